"""Names in a text, by rule and without a model: people, places, organisations, titles of works.

It stands in for the extraction of Hindsight's section 4.1.2 where no language model is configured. Precision comes
first: a capital that only opens a sentence is no name. The rules read the spelling of English; languages that
capitalise every noun (German) give too many names, scripts without capitals none but the speakers' own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from recollect.domain.entities import EntityKind

MAX_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name as it is written, without a possessive 's; ``text`` is the source's ``span`` (characters)."""

    text: str
    kind: EntityKind
    span: tuple[int, int]


def find_names(text: str, speakers: Collection[str] = (), known: Container[str] = frozenset()) -> tuple[Name, ...]:
    """Every name of a text, first to last, none overlapping another.

    A capital that opens a sentence counts only where the word is a speaker's name, is part of a longer capitalised
    phrase, is capitalised in mid-sentence elsewhere in the text, or is in ``known`` (names met before, casefolded).
    Speakers that are roles ("user", "assistant") are no names. Never raises; linear in the text's length.
    """
    people = _people(speakers if isinstance(speakers, frozenset) else frozenset(speakers))
    names: list[Name] = []
    openers: list[tuple[str, Name]] = []
    inside: set[str] = set()  # words seen capitalised where no sentence begins
    for hit in _NAME.finditer(text):
        if hit.lastgroup is None:
            _read_phrase(text, hit, people, names, openers, inside)
        elif (special := _special(hit)) is not None:
            names.append(special)
    kept = [name for word, name in openers if word in inside or word in known]
    if people.uncased:
        kept.extend(_uncased(text, people.uncased, [*names, *kept]))
    if kept:
        names = sorted([*names, *kept], key=_start)
    return tuple(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _People:
    words: frozenset[str]
    uncased: tuple[str, ...]


@lru_cache(maxsize=256)
def _people(speakers: frozenset[str]) -> _People:
    named = [name.strip() for name in speakers if name.strip() and name.strip().lower() not in _ROLES]
    words = (word for name in named for word in (name.lower(), *name.lower().split()) if len(word) > 1)
    uncased = (name for name in named if not name[0].isupper() and name.lower() not in _STOP)
    return _People(words=frozenset(words).difference(_LINKS), uncased=tuple(sorted(uncased)))


def _read_phrase(
    text: str, hit: re.Match[str], people: _People, names: list[Name], openers: list[tuple[str, Name]], inside: set[str]
) -> None:
    """Add the names of one capitalised phrase."""
    phrase, start = hit[0], hit.start()
    # Most capitals are one stop word: they leave here.
    if phrase in _STOP_CAPITALISED and phrase.lower() not in people.words:
        return
    opens = _opens_sentence(text, start)
    several = " " in phrase
    if not several and _cannot_be(text, hit.end(), phrase, people):
        return
    shouted = several and phrase.isupper() and phrase[-1].isalpha()
    for at, words, leads in _parts(phrase, start, opens, people):
        name = _as_name(text, at, words, people)
        if name is None:
            continue
        word = name.text.lower()
        if shouted and word not in people.words:
            continue
        if opens and leads and _needs_proof(words, word, people):
            openers.append((word, name))
            continue
        names.append(name)
        if not (opens and leads):
            inside.add(word)


def _cannot_be(text: str, end: int, word: str, people: _People) -> bool:
    """Whether a lone word is half of an ordinary compound ("Self-care", "Spanish-speaking")."""
    if text[end : end + 1] != "-" or not text[end + 1 : end + 2].islower():
        return False
    return not word.isupper() and word.lower() not in people.words


def _needs_proof(words: Sequence[str], word: str, people: _People) -> bool:
    """Whether a phrase that opens a sentence may be an ordinary word with a capital."""
    if word in people.words:
        return word in _STOP  # a speaker called Will
    if any(char.isupper() for char in _bare(words[0])[1:]):
        return False  # NASA, LeBron, Jean-Luc
    return len(words) == 1 or (len(words) == 2 and words[1][0].isdigit() and words[0].lower() not in _NUMBERED)


def _parts(phrase: str, start: int, opens: bool, people: _People) -> Iterator[tuple[int, list[str], bool]]:
    """The runs of words between stop words: offset, words, and whether the run holds the phrase's first word."""
    words = phrase.split(" ")
    at, begun, run = start, start, list[str]()
    for index, word in enumerate(words):
        if _breaks(word, index, words, opens, people):
            yield from _trimmed(begun, run, begun == start, people)
            run, begun = [], at + len(word) + 1
        else:
            run.append(word)
            if _owner(word) in people.words and word != _owner_text(word):  # "Maria's Toyota" is two names
                yield from _trimmed(begun, run, begun == start, people)
                run, begun = [], at + len(word) + 1
        at += len(word) + 1
    yield from _trimmed(begun, run, begun == start, people)


def _breaks(word: str, index: int, words: Sequence[str], opens: bool, people: _People) -> bool:
    low = _owner(word)
    if low in people.words:
        return opens and index == 0 and low in _STOP
    if index:
        return low in _NEVER or (
            _is_stop(word) and low not in _IN_NAMES and (index == len(words) - 1 or word.isupper())
        )
    if len(words) > 1 and low in (_OPENING_NAMES if opens else _IN_NAMES):
        return False  # "in New York", "I read The Hobbit"
    return _is_stop(word) or (opens and len(words) > 1 and low.endswith("ing") and low not in _NOT_VERBS)


def _trimmed(at: int, run: list[str], leads: bool, people: _People) -> Iterator[tuple[int, list[str], bool]]:
    """The run without stop words, connectives and numbers at its head, and without connectives at its end."""
    first, last = 0, len(run)
    while first < last and _is_no_head(run[first], leads and first == 0, people):
        first += 1
    while last > first and (run[last - 1] in _LINKS or run[last - 1] == "&" or _is_tail_stop(run[last - 1])):
        last -= 1
    if first < last:
        yield at + sum(len(word) + 1 for word in run[:first]), run[first:last], leads and first == 0


def _is_no_head(word: str, leads: bool, people: _People) -> bool:
    if word in _LINKS or word == "&" or word[0].isdigit():
        return True
    return not leads and _is_stop(word) and word.lower() not in _IN_NAMES and _owner(word) not in people.words


def _is_tail_stop(word: str) -> bool:
    return _owner(word) in _NEVER


def _as_name(text: str, at: int, words: Sequence[str], people: _People) -> Name | None:
    """The name these words spell, or ``None`` where they shout or are a lone letter."""
    if len(words) == 2 and words[1][0].isdigit() and words[0].lower() in people.words:
        words = words[:1]  # "with John 2"
    end = at + sum(map(len, words)) + len(words) - 1
    end -= (
        len(words[-1]) - len(_without_possessive(words)) + (words[-1].endswith(".") and not _DOTTED.search(words[-1]))
    )
    spelled = text[at:end]
    if not 1 < len(spelled) <= MAX_NAME or (spelled.isupper() and _shouts(words, people)):
        return None
    return Name(text=spelled, kind=_kind(text, at, words, people), span=(at, end))


def _shouts(words: Sequence[str], people: _People) -> bool:
    bare = _bare(words[0])
    if len(words) > 1:
        return not any(any(map(str.isdigit, word)) or "." in word for word in words)
    if bare.lower() in people.words or not bare.isascii():
        return False
    return bare.lower() in _SHOUTED or (len(bare) > 6 and bare.isalpha() and not bare.startswith("LGBT"))


def _without_possessive(words: Sequence[str]) -> str:
    last = words[-1]
    if words[0] in ("St.", "Saint") or last in _KEEP_POSSESSIVE:
        return last
    return _bare(last)


def _bare(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s", "'S", "’S")) else word


def _owner_text(word: str) -> str:
    return word.replace("’", "'").partition("'")[0]


def _owner(word: str) -> str:
    return _owner_text(word).lower()


def _is_stop(word: str) -> bool:
    low = word.lower().replace("’", "'")
    return low in _STOP or low.partition("'")[0] in _STOP


def _opens_sentence(text: str, at: int) -> bool:
    """Whether only blanks, quotes and bullets stand between here and a sentence's end, a line's start or an emoji."""
    for back in range(at - 1, max(-1, at - 17), -1):
        char = text[back]
        if char in _SKIPPED:
            continue
        if char in "\"“«„(['‘":
            return True
        return char in _ENDS or (ord(char) > 0x2190 and not char.isalnum())
    return True


def _special(hit: re.Match[str]) -> Name | None:
    if hit.lastgroup == "handle":
        return Name(text=hit["handle"], kind=EntityKind.PERSON, span=hit.span("handle"))
    title = hit["title"].rstrip(",.")
    words = title.rstrip("!?").split(" ")
    if len(title) < 2 or all(map(_is_stop, words)) or (len(words) == 1 and title.endswith(("!", "?"))):
        return None
    start = hit.start("title")
    return Name(text=title, kind=EntityKind.PRODUCT, span=(start, start + len(title)))


def _kind(text: str, at: int, words: Sequence[str], people: _People) -> EntityKind:
    head, tail = words[0].lower(), _owner(words[-1])
    if head in people.words and all(_owner(word) in people.words for word in words):
        return EntityKind.PERSON
    if len(words) > 1:
        kind = _kind_of_phrase(head, tail, words)
        if kind is not None:
            return kind
    elif words[0][0].islower():
        return EntityKind.PRODUCT  # iPhone
    return _kind_by_context(text[max(0, at - 40) : at])


def _kind_of_phrase(head: str, tail: str, words: Sequence[str]) -> EntityKind | None:
    if (head in _TITLES and "of" not in words) or _DOTTED.match(words[0]):
        return EntityKind.PERSON
    if tail in _ORGANIZATIONS or head in ("university", "bank", "school", "college", "ministry", "department"):
        return EntityKind.ORGANIZATION
    if tail in _PLACES or head in _PLACE_HEADS:
        return EntityKind.LOCATION
    return EntityKind.PRODUCT if words[-1][0].isdigit() else None


def _kind_by_context(before: str) -> EntityKind:
    context = before.lower().split()
    if not context:
        return EntityKind.OTHER
    last, earlier = context[-1], context[-3:-1]
    if last in _RELATIONS:
        return EntityKind.PERSON
    if last in ("in", "near", "visit", "visited", "visiting"):
        return EntityKind.LOCATION
    if last in ("to", "at", "from", "around", "through") and not _MOTION.isdisjoint(earlier):
        return EntityKind.LOCATION
    return EntityKind.OTHER


def _uncased(text: str, speakers: Sequence[str], names: Sequence[Name]) -> Iterator[Name]:
    """Speakers that begin with no capital ("田中", "ada99"), where they stand as they spell themselves."""
    pattern = "|".join(map(re.escape, sorted(speakers, key=len, reverse=True)))
    taken = sorted(name.span for name in names)
    place = 0
    for hit in re.finditer(rf"(?<![A-Za-z0-9_@])(?:{pattern})(?![A-Za-z0-9_])", text):
        while place < len(taken) and taken[place][1] <= hit.start():
            place += 1
        if place == len(taken) or hit.end() <= taken[place][0]:
            yield Name(text=hit[0], kind=EntityKind.PERSON, span=hit.span())


def _start(name: Name) -> int:
    return name.span[0]


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ROLES: Final = _listed("user assistant system human ai bot agent model tool unknown speaker me you")
_LINKS: Final = _listed("of the de la le del da dos das van von der den du des di y bin ibn al el")
_SKIPPED: Final = frozenset(" \t\u00a0*_-–—•>#")
_ENDS: Final = frozenset(".!?:;…\n\r\f\v\u2028\u2029|")
_DOTTED: Final = re.compile(r"^\w\.|\.\w\.$")

# Words that carry a capital without being names: they open sentences, greet, exclaim, or name times.
_NEVER: Final = _listed(
    "i i'm i've i'll i'd it it's you your you're we they he she my me thanks thank hey hi wow yeah lol"
)
_STOP: Final = _NEVER | _listed(
    """a an the this that these those there here its our their his her hers him them us who whom whose which what when
    where why how if then than so as at by for from in into of off on onto out over to up with without within about
    above across after again against along among around before behind below between beyond but and or nor not yet
    because though although while since until unless whether during despite except through under upon via per am is
    are was were be been being do does did don't doesn't didn't done have has had having can can't cannot could
    would won't shall should may might must will let let's ain't isn't aren't wasn't weren't haven't hasn't hadn't
    couldn't wouldn't shouldn't mustn't y'all got gotta gonna wanna gimme lemme kinda sorta no nope nah yes yep yup
    yea yay sure ok okay oh ooh ah aha aw aww awww haha hahaha hah hehe ha heh hmm hm mm mmm um uh uhh ugh oof ouch
    oops woah whoa woo woohoo yum yikes geez gosh omg btw lmao rofl imo imho fyi asap tbh idk rip diy pm ps p.s etc
    eg ie vs aka faq hello howdy greetings goodbye bye cheers congrats congratulations sorry please pls welcome dear
    good great nice cool awesome amazing wonderful fantastic terrific excellent perfect brilliant lovely sweet cute
    fun funny happy sad glad proud excited exciting interesting impressive incredible crazy wild bummer damn dang
    duh absolutely totally definitely certainly exactly indeed really truly actually basically honestly seriously
    literally finally hopefully luckily thankfully fortunately unfortunately sadly obviously clearly apparently
    probably possibly perhaps maybe anyway anyways besides however therefore thus also too plus still just only even
    ever never always often sometimes usually once twice soon later now today tonight tomorrow yesterday lately
    recently currently meanwhile instead otherwise furthermore moreover additionally especially almost already next
    last first second third another other others each every everyone everybody everything any anyone anybody
    anything some someone somebody something nobody nothing none all both either neither many much more most few
    several lots such same different new old big small little long short high low best better worst worse bad hard
    easy tough real true super very quite rather pretty well way back down away together alone whatever whenever
    wherever whoever like love loved loving hate enjoy enjoyed hope hoping wish wishing want wanted need needed
    think thinking thought know knew guess bet believe remember forget look looks looking sound sounds feel feels
    feeling seem seems see saw seen seeing hear heard watch watching tell told say said says speaking talk talking
    ask asked go goes going went gone come came coming get gets getting give gave giving take takes took taken
    taking make makes made making keep kept keeping put try tried trying start started starting stop stay stayed
    staying find found finding check catch call called meet met bring brought buy bought use used using work works
    working play playing read reading write wrote writing run running visited visiting visit miss missed missing
    spent spend spending learn learned learning had sending send sent show showing count hang appreciate agreed
    agree count add consider include ensure note step tip tips example examples overall here's there's let us
    understood noted correct right wrong left thx ty np yo sup congratz gratz ahem bravo hooray hurray phew whew
    yuck eek dude bro buddy guys folks man girl boy ma'am sir mom dad mum mommy daddy mama papa grandma grandpa god
    jesus anytime january february march april june july august september october november december jan feb mar apr
    jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu
    thur thurs fri sat sun mondays tuesdays wednesdays thursdays fridays saturdays sundays spring summer autumn fall
    winter am pm est pst utc gmt tv dvd cd pc id url html pdf ceo cto cfo hr faqs diys tvs"""
)
# Stop words that may be part of a longer name, in mid-sentence and where a sentence opens.
_IN_NAMES: Final = _listed(
    """the a new under old little big great good first last best high low super real true sweet happy wild love play
    all one man girl boy spring summer winter fall back three new south down every long small short all hard"""
)
_OPENING_NAMES: Final = _listed("new")
_STOP_CAPITALISED: Final = frozenset(form for word in _STOP for form in (word.capitalize(), word.upper())) | frozenset(
    f"{word.capitalize()}{mark}{suffix}"
    for word in _STOP
    if "'" not in word
    for mark in "'’"
    for suffix in ("s", "re", "ve", "ll", "d", "m")
)
_SHOUTED: Final = _STOP | _listed(
    """job birthday day days time times life world people year years week home house family friend friends kids baby
    thing things stuff lot lots half whole full free huge insane epic boom win won wins loss lost help free sale
    open hot cold warm fire lit mega ultra total two three four five six ten one zero zoom care gift food cake party
    game games team end ends must wait stop done no way yess yesss wooo nooo sooo soooo goal goals ready set book
    books dog cat dogs cats money cash safe sick mind body soul art music dance movie show fact facts idea plan"""
)
_NOT_VERBS: Final = _listed(
    "king ming sterling beijing nanjing irving wyoming reading boeing fleming harding golding boxing"
)
_NUMBERED: Final = _listed(
    "room flight gate platform route highway apollo windows python formula java area pier studio channel act chapter"
)
_KEEP_POSSESSIVE: Final = _listed(
    "McDonald's Wendy's Macy's Levi's Kellogg's Domino's Denny's Lay's Sotheby's Christie's Lloyd's"
)
_TITLES: Final = _listed(
    """dr dr. mr mr. mrs mrs. ms ms. prof prof. professor rev. capt. captain sgt. lt. gen. sir lady lord aunt auntie
    uncle grandma grandpa granny president king queen prince princess coach saint pope"""
)
_ORGANIZATIONS: Final = _listed(
    """university college school academy institute inc inc. ltd ltd. llc gmbh corp corp. corporation company co co.
    club bank hospital clinic foundation association society committee council agency ministry department church
    league union group museum gallery library orchestra band restaurant cafe café studio studios airlines times post"""
)
_PLACES: Final = _listed(
    """lake mount mt mt. park street st. city beach river island islands bay road avenue lane square county valley
    mountain mountains hills hill canyon falls forest desert ocean sea coast port fort cape bridge airport station
    village town trail gardens garden district province heights harbor harbour plaza peninsula springs creek"""
)
_PLACE_HEADS: Final = _listed("lake mount mt mt. fort ft. port cape isle room gulf")
_RELATIONS: Final = _listed(
    """friend friends colleague coworker co-worker boss manager neighbor neighbour teammate roommate classmate partner
    husband wife girlfriend boyfriend fiancé fiancée fiance fiancee sister brother mother father mom dad son
    daughter cousin uncle aunt niece nephew grandmother grandfather grandma grandpa teacher mentor therapist doctor
    author artist singer actor actress player coach guy girl named name's"""
)
_MOTION: Final = _listed(
    """go goes going went gone move moves moved moving travel traveled travelled traveling travelling trip trips fly
    flew flying drive drove driving live lives lived living stay stayed staying hike hiked hiking return returned
    back come came journey tour flight vacation headed heading walk walked wandered"""
)
_UNITS: Final = (
    "times|time|years?|yrs?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|more|other|new|people|kids|"
    "children|pm|am|p\\.m|a\\.m|o'clock|km|miles?|kg|lbs?|pounds?|dollars|bucks|percent|cats|dogs|books"
)


def _pattern() -> re.Pattern[str]:
    """One pattern: a quoted title, an @handle, or a capitalised phrase (the only alternative without a group)."""
    capitals = "".join(char for char in map(chr, (*range(0xC0, 0x588), *range(0x1E00, 0x2000))) if char.isupper())
    cap = f"[A-Z{capitals}]"
    tail = rf"\w*+(?:['’&]\w++|-(?=[A-Z\d{capitals}])\w++)*+"
    dotted = rf"(?:Dr|Mrs?|Ms|Prof|St|Mt|Ft|Rev|Gen|Capt|Lt|Sgt)\.(?=\ {cap})"
    initials = rf"(?!I\.\ \w\w)(?:{cap}\.)++(?:(?<=\.\w\.)|(?=\ ?{cap}))"
    word = rf"(?:{dotted}|{initials}|{cap}{tail}|[ie](?={cap}[a-z]){tail})"
    number = rf"\d{{1,4}}(?:\.\d{{1,3}}){{0,2}}[a-z]?(?![\w%$°]|[.,:/-]\d|(?:\ |-)(?:{_UNITS})\b)"
    links = "of the|of|the|de la|de|del|da|dos|van der|van|von|du|di|bin|ibn|&"
    phrase = rf"{word}(?:\ (?:(?:{links})\ )?(?:{word}|{number})|(?<=\w\.){cap}{tail}){{0,8}}+"
    small = "a|an|the|of|and|or|in|on|to|for|with|from|at|by|is|as|my|your|be|it|de|la|le|du|vs|into|your"
    titled = rf"(?:{cap}|\d)[\w'’&.-]*+"
    title = rf"{titled}(?:[,:]?\ (?:{titled}|(?:{small})(?=\ )|&)){{0,11}}[,.!?]?"
    return re.compile(rf"(?<!\w)(?:[\"“«„](?P<title>{title})[\"”»“]|(?P<handle>@\w[\w.]{{0,30}}\w)|{phrase})")


_NAME: Final = _pattern()
