"""Word lists and the pattern that separate names from other capitalised words."""

from __future__ import annotations

import re
from typing import Final


def split_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


ROLES: Final = split_words("user assistant system human ai bot agent model tool unknown speaker me you")
LINKS: Final = split_words("of the de la le del da dos das van von der den du des di y bin ibn al el")
SKIPPED: Final = frozenset(" \t\u00a0*_-–—•>#")
ENDS: Final = frozenset(".!?:;…\n\r\f\v\u2028\u2029|")
DOTTED: Final = re.compile(r"^\w\.|\.\w\.$")

# Capitalised words that are not names: they open sentences, greet, exclaim or name times.
NEVER: Final = split_words(
    "i i'm i've i'll i'd it it's you your you're we they he she my me thanks thank hey hi wow yeah lol"
)
STOP: Final = NEVER | split_words(
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
IN_NAMES: Final = split_words(
    """the a new under old little big great good first last best high low super real true sweet happy wild love play
    all one man girl boy spring summer winter fall back three new south down every long small short all hard"""
)
OPENING_NAMES: Final = split_words("new")
STOP_CAPITALISED: Final = frozenset(form for word in STOP for form in (word.capitalize(), word.upper())) | frozenset(
    f"{word.capitalize()}{mark}{suffix}"
    for word in STOP
    if "'" not in word
    for mark in "'’"
    for suffix in ("s", "re", "ve", "ll", "d", "m")
)
SHOUTED: Final = STOP | split_words(
    """job birthday day days time times life world people year years week home house family friend friends kids baby
    thing things stuff lot lots half whole full free huge insane epic boom win won wins loss lost help free sale
    open hot cold warm fire lit mega ultra total two three four five six ten one zero zoom care gift food cake party
    game games team end ends must wait stop done no way yess yesss wooo nooo sooo soooo goal goals ready set book
    books dog cat dogs cats money cash safe sick mind body soul art music dance movie show fact facts idea plan"""
)
NOT_VERBS: Final = split_words(
    "king ming sterling beijing nanjing irving wyoming reading boeing fleming harding golding boxing"
)
NUMBERED: Final = split_words(
    "room flight gate platform route highway apollo windows python formula java area pier studio channel act chapter"
)
KEEP_POSSESSIVE: Final = split_words(
    "McDonald's Wendy's Macy's Levi's Kellogg's Domino's Denny's Lay's Sotheby's Christie's Lloyd's"
)
TITLES: Final = split_words(
    """dr dr. mr mr. mrs mrs. ms ms. prof prof. professor rev. capt. captain sgt. lt. gen. sir lady lord aunt auntie
    uncle grandma grandpa granny president king queen prince princess coach saint pope"""
)
ORGANIZATIONS: Final = split_words(
    """university college school academy institute inc inc. ltd ltd. llc gmbh corp corp. corporation company co co.
    club bank hospital clinic foundation association society committee council agency ministry department church
    league union group museum gallery library orchestra band restaurant cafe café studio studios airlines times post"""
)
PLACES: Final = split_words(
    """lake mount mt mt. park street st. city beach river island islands bay road avenue lane square county valley
    mountain mountains hills hill canyon falls forest desert ocean sea coast port fort cape bridge airport station
    village town trail gardens garden district province heights harbor harbour plaza peninsula springs creek"""
)
PLACE_HEADS: Final = split_words("lake mount mt mt. fort ft. port cape isle room gulf")
RELATIONS: Final = split_words(
    """friend friends colleague coworker co-worker boss manager neighbor neighbour teammate roommate classmate partner
    husband wife girlfriend boyfriend fiancé fiancée fiance fiancee sister brother mother father mom dad son
    daughter cousin uncle aunt niece nephew grandmother grandfather grandma grandpa teacher mentor therapist doctor
    author artist singer actor actress player coach guy girl named name's"""
)
MOTION: Final = split_words(
    """go goes going went gone move moves moved moving travel traveled travelled traveling travelling trip trips fly
    flew flying drive drove driving live lives lived living stay stayed staying hike hiked hiking return returned
    back come came journey tour flight vacation headed heading walk walked wandered"""
)
UNITS: Final = (
    "times|time|years?|yrs?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|more|other|new|people|kids|"
    "children|pm|am|p\\.m|a\\.m|o'clock|km|miles?|kg|lbs?|pounds?|dollars|bucks|percent|cats|dogs|books"
)


def build_name_pattern() -> re.Pattern[str]:
    """Return the pattern that matches a quoted title, an @handle or a capitalised phrase. Only the phrase has no
    group.
    """
    capitals = "".join(char for char in map(chr, (*range(0xC0, 0x588), *range(0x1E00, 0x2000))) if char.isupper())
    cap = f"[A-Z{capitals}]"
    tail = rf"\w*+(?:['’&]\w++|-(?=[A-Z\d{capitals}])\w++)*+"
    dotted = rf"(?:Dr|Mrs?|Ms|Prof|St|Mt|Ft|Rev|Gen|Capt|Lt|Sgt)\.(?=\ {cap})"
    initials = rf"(?!I\.\ \w\w)(?:{cap}\.)++(?:(?<=\.\w\.)|(?=\ ?{cap}))"
    word = rf"(?:{dotted}|{initials}|{cap}{tail}|[ie](?={cap}[a-z]){tail})"
    number = rf"\d{{1,4}}(?:\.\d{{1,3}}){{0,2}}[a-z]?(?![\w%$°]|[.,:/-]\d|(?:\ |-)(?:{UNITS})\b)"
    links = "of the|of|the|de la|de|del|da|dos|van der|van|von|du|di|bin|ibn|&"
    phrase = rf"{word}(?:\ (?:(?:{links})\ )?(?:{word}|{number})|(?<=\w\.){cap}{tail}){{0,8}}+"
    small = "a|an|the|of|and|or|in|on|to|for|with|from|at|by|is|as|my|your|be|it|de|la|le|du|vs|into|your"
    titled = rf"(?:{cap}|\d)[\w'’&.-]*+"
    title = rf"{titled}(?:[,:]?\ (?:{titled}|(?:{small})(?=\ )|&)){{0,11}}[,.!?]?"
    return re.compile(rf"(?<!\w)(?:[\"“«„](?P<title>{title})[\"”»“]|(?P<handle>@\w[\w.]{{0,30}}\w)|{phrase})")


NAME: Final = build_name_pattern()
# Names that are also ordinary words. In lower case they need not be names.
ORDINARY_NAMES: Final = STOP | split_words(
    """amber angel art ash basil bay bill bishop blossom bob brook buck bud carol chance chase christian clay cliff
    coral crystal daisy dale dawn dean dick dove drew duke earl eve faith fern flora ford frank fox gale gene ginger
    glen glory grace grant gray green guy harmony harper hazel heath heather hill holly honey hope hunter iris ivy jack
    jade jasmine jay jean jet john josh joy june king lance laurel lily lord major mark marina mason melody mercy merry
    miles minister misty nick norm olive opal page paige pansy parker pat patience paris patty pearl penny peg pepper
    pierce piper pole polly poppy porter prince queen ray reed reef rich rob robin rock rod rose ruby rusty sage sally
    sandy scarlett serena shepherd sky skip smith star stone storm stew sue summer tab tanner taylor teddy terry tiger
    trinity troy van vera victor victory viola violet ward wade walker warren will willow wren"""
)
