"""The six further languages as data: their time words, and the English of each shape.

A shape is a regular expression in which ``<n>`` stands for a count, ``<u>`` for a unit, ``<m>`` for a month, ``<d>``
for a weekday, ``<day>`` for a day of the month and ``<y>`` for a year. The English beside it uses the same
placeholders. An empty English text marks words that look like a time and are none ("la mañana", the morning), so that
no later shape matches them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

Shapes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLanguage:
    """One language. Months and weekdays are in order, spellings are separated by ``|``, counts and units have their
    English.
    """

    months: str
    weekdays: str
    numbers: dict[str, str]
    units: dict[str, str]
    shapes: Shapes

    def pieces(self) -> dict[str, str]:
        """Return the regular expression of each placeholder."""
        return {
            "m": _join_spellings(self.months.replace(" ", "|")),
            "d": _join_spellings(self.weekdays.replace(" ", "|")),
            "n": rf"(?:\d{{1,3}}|{_join_spellings('|'.join(self.numbers))})",
            "u": _join_spellings("|".join(self.units)),
            "day": r"(?:3[01]|[12]\d|0?[1-9])",
            "y": r"(?:1[5-9]\d\d|20\d\d)",
        }

    def hints(self) -> frozenset[str]:
        """Return words of which at least one occurs in every expression without a digit."""
        words = " ".join((self.months, self.weekdays, *self.units, *(shape for shape, _ in self.shapes)))
        return frozenset(re.findall(r"[^\W\d_]{3,}", words.lower())) - {"the"}


def _join_spellings(words: str) -> str:
    return "(?:" + "|".join(sorted(set(words.split("|")), key=lambda word: (-len(word), word))) + ")"


def _list_numbers(words: str) -> dict[str, str]:
    """Return the counts in order from one. ``/`` separates the spellings of a count."""
    return {word: str(n) for n, spelled in enumerate(words.split(), start=1) for word in spelled.split("/")}


def _list_units(days: str, weeks: str, months: str, years: str) -> dict[str, str]:
    return {
        word: english
        for words, english in ((days, "days"), (weeks, "weeks"), (months, "months"), (years, "years"))
        for word in words.split("|")
    }


LANGUAGES: Final = {
    "es": TimeLanguage(
        months=("enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre"),
        weekdays=("lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo"),
        numbers=_list_numbers("un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce"),
        units=_list_units("día|días|dia|dias", "semana|semanas", "mes|meses", "año|años"),
        shapes=(
            (r"antes de ayer|anteayer|antier", "the day before yesterday"),
            (r"pasado mañana", "the day after tomorrow"),
            (r"ayer por la (?:mañana)", "yesterday morning"),
            (r"ayer por la tarde", "yesterday afternoon"),
            (r"(?:ayer por la noche|anoche)", "last night"),
            (r"esta mañana", "this morning"),
            (r"esta noche", "tonight"),
            (r"(?:la|una|de|cada|por la) mañana", ""),
            (r"ayer", "yesterday"),
            (r"hoy(?! en día)", "today"),
            (r"mañana", "tomorrow"),
            (r"(?<!desde\x20)hace <n> <u>(?! que)", "<n> <u> ago"),
            (r"dentro de <n> <u>", "<n> <u> from now"),
            (r"la semana pasada|la pasada semana", "last week"),
            (r"el mes pasado|el pasado mes", "last month"),
            (r"el año pasado|el pasado año", "last year"),
            (r"el fin de semana pasado|el pasado fin de semana", "last weekend"),
            (r"este fin de semana", "this weekend"),
            (r"esta semana", "this week"),
            (r"este mes", "this month"),
            (r"este año", "this year"),
            (r"la (?:próxima semana|semana que viene|semana próxima)", "next week"),
            (r"el (?:próximo mes|mes que viene|mes próximo)", "next month"),
            (r"el (?:próximo año|año que viene|año próximo)", "next year"),
            (r"el <d> pasado", "last <d>"),
            (r"el pasado <d>", "last <d>"),
            (r"desde <y>", "since <y>"),
            (r"<day> de <m> del? <y>", "<day> <m> <y>"),
            (r"<m> del? <y>", "<m> <y>"),
            (r"en (?:el año )?<y>(?!\s\w)", "in <y>"),
        ),
    ),
    "fr": TimeLanguage(
        months=(
            "janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre novembre décembre|decembre"
        ),
        weekdays=("lundi mardi mercredi jeudi vendredi samedi dimanche"),
        numbers=_list_numbers("un/une deux trois quatre cinq six sept huit neuf dix onze douze"),
        units=_list_units("jour|jours", "semaine|semaines", "mois", "an|ans|année|années"),
        shapes=(
            (r"avant[- ]hier", "the day before yesterday"),
            (r"après[- ]demain", "the day after tomorrow"),
            (r"hier matin", "yesterday morning"),
            (r"hier après-midi", "yesterday afternoon"),
            (r"hier soir", "yesterday evening"),
            (r"ce matin", "this morning"),
            (r"ce soir", "this evening"),
            (r"cette nuit", ""),
            (r"hier", "yesterday"),
            (r"aujourd['’]hui", "today"),
            (r"demain", "tomorrow"),
            (r"il y a <n> <u>(?! que)", "<n> <u> ago"),
            (r"la semaine (?:dernière|passée)", "last week"),
            (r"le mois (?:dernier|passé)", "last month"),
            (r"l['’]an(?:née)? (?:dernier|dernière|passée?)", "last year"),
            (r"le week-?end (?:dernier|passé)", "last weekend"),
            (r"ce week-?end", "this weekend"),
            (r"cette semaine", "this week"),
            (r"ce mois-ci", "this month"),
            (r"cette année", "this year"),
            (r"la semaine prochaine", "next week"),
            (r"le mois prochain", "next month"),
            (r"l['’]an(?:née)? prochaine?", "next year"),
            (r"<d> dernier", "last <d>"),
            (r"depuis <y>", "since <y>"),
            (r"<day>(?:er)? <m> <y>", "<day> <m> <y>"),
            (r"<m> <y>", "<m> <y>"),
            (r"en <y>(?!\s\w)", "in <y>"),
        ),
    ),
    "de": TimeLanguage(
        months=("januar|jänner februar märz|maerz april mai juni juli august september oktober november dezember"),
        weekdays=("montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag"),
        numbers=_list_numbers("ein/eine/einem/einer/einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
        units=_list_units("tag|tagen|tage", "woche|wochen", "monat|monaten|monate", "jahr|jahren|jahre"),
        shapes=(
            (r"vorgestern", "the day before yesterday"),
            (r"übermorgen", "the day after tomorrow"),
            (r"gestern (?:morgen|früh|vormittag)", "yesterday morning"),
            (r"gestern nachmittag", "yesterday afternoon"),
            (r"gestern abend", "yesterday evening"),
            (r"heute (?:morgen|früh|vormittag)", "this morning"),
            (r"heute nachmittag", "this afternoon"),
            (r"heute abend", "this evening"),
            (r"(?:guten|am|jeden|den|einen|dieser|diesen|der) morgen", ""),
            (r"morgen (?:abend|nachmittag|früh)", "tomorrow"),
            (r"gestern", "yesterday"),
            (r"heute(?! noch| zutage)", "today"),
            (r"(?-i:morgen)(?!s)", "tomorrow"),
            (r"vor <n> <u>", "<n> <u> ago"),
            (r"(?:letzte|vergangene|vorige) woche", "last week"),
            (r"(?:letzten|vergangenen|vorigen) monat", "last month"),
            (r"(?:letztes|vergangenes|voriges) jahr|(?:im )?(?:letzten|vergangenen) jahr", "last year"),
            (r"(?:letztes|vergangenes|voriges|am letzten) wochenende", "last weekend"),
            (r"dieses wochenende", "this weekend"),
            (r"diese woche", "this week"),
            (r"diesen monat", "this month"),
            (r"dieses jahr", "this year"),
            (r"nächste woche", "next week"),
            (r"nächsten monat", "next month"),
            (r"nächstes jahr", "next year"),
            (r"(?:am )?letzten <d>", "last <d>"),
            (r"seit <y>", "since <y>"),
            (r"<day>\. ?<m> <y>", "<day> <m> <y>"),
            (r"<m> <y>", "<m> <y>"),
            (r"im jahre? <y>", "in <y>"),
        ),
    ),
    "pt": TimeLanguage(
        months=("janeiro fevereiro março|marco abril maio junho julho agosto setembro outubro novembro dezembro"),
        weekdays=("segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado|sabado domingo"),
        numbers=_list_numbers("um/uma dois/duas três/tres quatro cinco seis sete oito nove dez onze doze"),
        units=_list_units("dia|dias", "semana|semanas", "mês|meses|mes", "ano|anos"),
        shapes=(
            (r"anteontem", "the day before yesterday"),
            (r"depois de amanhã", "the day after tomorrow"),
            (r"ontem (?:à|a) noite", "last night"),
            (r"ontem de manhã", "yesterday morning"),
            (r"(?:esta|nesta) manhã|hoje de manhã", "this morning"),
            (r"ontem", "yesterday"),
            (r"hoje(?! em dia)", "today"),
            (r"amanhã", "tomorrow"),
            (r"(?:há )?<n> <u> atrás", "<n> <u> ago"),
            (r"daqui a <n> <u>", "<n> <u> from now"),
            (r"(?:n?a )?semana passada", "last week"),
            (r"(?:n?o )?mês passado", "last month"),
            (r"(?:n?o )?ano passado", "last year"),
            (r"(?:n?o )?fim de semana passado", "last weekend"),
            (r"n?este fim de semana", "this weekend"),
            (r"n?esta semana", "this week"),
            (r"n?este mês", "this month"),
            (r"n?este ano", "this year"),
            (r"(?:n?a )?(?:próxima semana|semana que vem)", "next week"),
            (r"(?:n?o )?(?:próximo mês|mês que vem)", "next month"),
            (r"(?:n?o )?(?:próximo ano|ano que vem)", "next year"),
            (r"(?:n?[ao] )?<d> passad[ao]", "last <d>"),
            (r"desde <y>", "since <y>"),
            (r"<day> de <m> de <y>", "<day> <m> <y>"),
            (r"<m> de <y>", "<m> <y>"),
            (r"em <y>(?!\s\w)", "in <y>"),
        ),
    ),
    "it": TimeLanguage(
        months=("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
        weekdays=("lunedì|lunedi martedì|martedi mercoledì|mercoledi giovedì|giovedi venerdì|venerdi sabato domenica"),
        numbers=_list_numbers("un/una/uno due tre quattro cinque sei sette otto nove dieci undici dodici"),
        units=_list_units("giorno|giorni", "settimana|settimane", "mese|mesi", "anno|anni"),
        shapes=(
            (r"l['’]altro ieri|avantieri|ieri l['’]altro", "the day before yesterday"),
            (r"dopodomani", "the day after tomorrow"),
            (r"ieri mattina", "yesterday morning"),
            (r"ieri pomeriggio", "yesterday afternoon"),
            (r"ieri sera", "yesterday evening"),
            (r"stamattina|questa mattina", "this morning"),
            (r"stasera|questa sera", "this evening"),
            (r"ieri", "yesterday"),
            (r"oggi(?! come oggi)", "today"),
            (r"domani", "tomorrow"),
            (r"<n> <u> fa", "<n> <u> ago"),
            (r"(?:la )?(?:settimana scorsa|scorsa settimana)", "last week"),
            (r"(?:il |lo )?(?:mese scorso|scorso mese)", "last month"),
            (r"l['’]anno scorso|lo scorso anno", "last year"),
            (
                r"(?:il |lo )?(?:fine settimana scorso|scorso fine settimana|weekend scorso|scorso weekend)",
                "last weekend",
            ),
            (r"questo (?:fine settimana|weekend)", "this weekend"),
            (r"questa settimana", "this week"),
            (r"questo mese", "this month"),
            (r"quest['’]anno", "this year"),
            (r"(?:la )?(?:prossima settimana|settimana prossima)", "next week"),
            (r"(?:il )?(?:prossimo mese|mese prossimo)", "next month"),
            (r"(?:l['’]anno prossimo|il prossimo anno)", "next year"),
            (r"<d> scors[oa]", "last <d>"),
            (r"(?:lo |la )?scors[oa] <d>", "last <d>"),
            (r"dal <y>(?! al)", "since <y>"),
            (r"<day> <m> <y>", "<day> <m> <y>"),
            (r"<m> (?:del )?<y>", "<m> <y>"),
            (r"nel <y>", "in <y>"),
        ),
    ),
    "nl": TimeLanguage(
        months=("januari februari maart april mei juni juli augustus september oktober november december"),
        weekdays=("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
        numbers=_list_numbers("een/één twee drie vier vijf zes zeven acht negen tien elf twaalf"),
        units=_list_units("dag|dagen", "week|weken", "maand|maanden", "jaar|jaren"),
        shapes=(
            (r"eergisteren", "the day before yesterday"),
            (r"overmorgen", "the day after tomorrow"),
            (r"gisterochtend|gistermorgen", "yesterday morning"),
            (r"gistermiddag", "yesterday afternoon"),
            (r"gisteravond", "yesterday evening"),
            (r"vanmorgen|vanochtend", "this morning"),
            (r"vanmiddag", "this afternoon"),
            (r"vanavond", "this evening"),
            (r"goede morgen|elke morgen|de morgen", ""),
            (r"gisteren", "yesterday"),
            (r"vandaag(?! de dag)", "today"),
            (r"morgen", "tomorrow"),
            (r"<n> <u> geleden", "<n> <u> ago"),
            (r"(?:vorige|afgelopen) week", "last week"),
            (r"vorige maand", "last month"),
            (r"vorig jaar", "last year"),
            (r"(?:vorig|afgelopen) weekend", "last weekend"),
            (r"dit weekend", "this weekend"),
            (r"deze week", "this week"),
            (r"deze maand", "this month"),
            (r"dit jaar", "this year"),
            (r"volgende week", "next week"),
            (r"volgende maand", "next month"),
            (r"volgend jaar", "next year"),
            (r"afgelopen <d>", "last <d>"),
            (r"sinds <y>", "since <y>"),
            (r"<day> <m> <y>", "<day> <m> <y>"),
            (r"<m> <y>", "<m> <y>"),
        ),
    ),
}
# Small words that show the language of a text. English is included so that it can win. A shared word is in both lists.
SMALL_WORDS: Final = {
    name: frozenset(words.split())
    for name, words in {
        "en": "the i a to of and is it my we you was in at that for with on have did are this he she they not do what",
        "es": "el la los las un una y en de que con por para mi me se fui al del yo lo no es está fue hace su nos muy "
        "he ha estaba hoy ayer mañana anoche anteayer desde cuando qué dónde",
        "fr": "le la les un une et est en de que avec pour mon ma je j ai il elle on nous vous des du au sur dans pas "
        "ne suis été avait depuis qu c aujourd à ce cette hier demain",
        "de": "der die das ein eine einen und ist in von zu mit für mein meine ich wir er sie es nicht war habe haben "
        "auf am im bin hat den dem wurde seit gestern heute vor letzte letzten nach beim sind",
        "pt": "o a os as um uma e em de que com por para meu minha eu no na do da não é foi fui nos ao se muito ontem "
        "hoje amanhã desde estava há comprei",
        "it": "il lo la i gli le un una e è in di che con per mio mia io non sono ho ha ci al del della alla nel siamo "
        "stato stata abbiamo ieri oggi domani dal fa",
        "nl": "de het een en is in van dat met voor mijn ik we wij hij zij ze niet was heb hebben op naar ben heeft er "
        "te zijn sinds gisteren vandaag geleden werd",
    }.items()
}
