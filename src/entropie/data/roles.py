"""Which column is the user, the item, the time: as named, as the preset says, or guessed from the name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from entropie.errors import InvalidInput, option, shown

_LOOKED_AT = 1000  # names, for one that is alike
_NEAR = 0.7  # as alike as `usr` and `user`, `timestmp` and `timestamp`
Role = Literal["user", "item", "time", "category", "rating", "latitude", "longitude"]

# Letters and digits of the name alone, lower case; the first synonym found wins.
_SYNONYMS: dict[Role, tuple[str, ...]] = {
    "user": (
        *("user", "userid", "uid", "username", "usernum", "person", "personid", "customer", "customerid"),
        *("visitor", "visitorid", "member", "memberid", "subject", "subjectid", "subscriber", "subscriberid"),
        *("account", "accountid", "client", "clientid", "device", "deviceid", "patient", "patientid", "reviewerid"),
    ),
    "item": (
        *("item", "itemid", "venue", "venueid", "location", "locationid", "place", "placeid", "poi", "poiid"),
        *("movie", "movieid", "product", "productid", "asin", "business", "businessid", "song", "songid"),
        *("track", "trackid", "artist", "artistid", "book", "bookid", "isbn", "article", "articleid"),
        *("page", "pageid", "url", "cell", "cellid", "station", "stationid"),
    ),
    "time": (
        *("time", "timestamp", "datetime", "utctime", "utctimestamp", "checkintime", "eventtime"),
        *("unixtime", "unixreviewtime", "ts", "date", "createdat", "visittime"),
    ),
    "category": (),  # never guessed
    "rating": ("rating", "ratings", "stars", "score", "overall"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon", "lng", "long"),
}


_ROLE_OF = {word: role for role, words in _SYNONYMS.items() for word in words}
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
    account activity address age alt altitude amount app area article artist asin at band begin birth birthday
    book branch brand business category cell channel check checkin city class client code column comment count
    country created currency customer data date datetime day degree department description device diagnosis
    district duration education email end event family feature field file film first flag from gender genre geo
    grade group guid hash height hour iban id in income index international ip isbn item job key kind label
    language last lat latitude length level lng local location lon long longitude machine make marital market
    member merchant message minute mode model month movie name nationality no note num number occupation of
    offset order org out page parameters parent party path patient person phone place plz poi point position
    post postal postcode price product profession published purchase quantity race rank rate rating ratings
    record ref reference region registered release religion report review reviewer role row salary score second
    section sequence serial session sex shop sku song sort source speed ssn stars start state station status
    store street subject subscriber subtype survey tag target temperature term text thing time timestamp
    timezone title to town track transaction trip ts type uid unit unix updated uri url user username utc uuid
    val value venue version visit visitor volume week weekday weight what when where who year zip zone
    """,
    )
)
"""Words that columns are called by, and people are not."""
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_CAPITALS = re.compile(r"[A-Z]{2,}")
_JOINED = re.compile(r"[A-Za-z]+([_.-][A-Za-z]+)*")
_SHOWN_COLUMNS = 30
_SHOWN_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a table, as messages speak of them.

    Where a text has no line of names, its first row is taken for one. So unless it is `certain` that names are names,
    messages list those that the user gave or that are made of words that columns are called by, and count the others.
    """

    table: str
    columns: tuple[str, ...]
    certain: bool = True

    def listed(self, wanted: Iterable[str | None] = ()) -> str:
        """The names, as far as they may be shown; those `wanted` are known to whoever reads this."""
        known = set(wanted)
        safe = [name for name in self.columns if self.certain or name in known or _is_plain(name)]
        held_back = len(self.columns) - len(safe)
        if not held_back:
            return _some(self.columns)
        more = "more " if safe else ""
        count = f"{held_back} {more}{'column' if held_back == 1 else 'columns'}"
        reason = f"{count}, not listed because the first line may be a row and not names"
        return shown(_some(self.columns), f"{_some(safe)} and {reason}" if safe else reason)

    def may_show(self, name: str) -> bool:
        """Whether a name can be no value of the data."""
        return self.certain or _is_plain(name)


def _some(names: Sequence[str]) -> str:
    listed = ", ".join(name[:_SHOWN_LETTERS] for name in names[:_SHOWN_COLUMNS])
    return listed + (", ..." if len(names) > _SHOWN_COLUMNS else "")


def _is_plain(name: str) -> bool:
    """Whether a name is made of words that columns are called by, and of nothing else: `visit_start`, `orderDate`."""
    if _plain(name) in _ROLE_OF:
        return True
    words = _WORD.findall(_CAPITALS.sub(lambda found: found[0].capitalize(), name))
    return bool(_JOINED.fullmatch(name)) and all(word.lower() in _COMMON for word in words)


def are_names(names: Sequence[str]) -> bool:
    """Whether a first line can be no row: two of its fields are what columns of two roles are called."""
    return len({_ROLE_OF[_plain(name)] for name in names if _plain(name) in _ROLE_OF}) > 1


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """One role, the column that plays it, and who said so."""

    role: Role
    column: str | None  # None: absent
    how: Literal["given", "preset", "guessed", "absent"]


def choose_columns(
    header: Header,
    given: Mapping[str, str | None],
    preset: Mapping[Role, str] | None,
    *,
    needed: Sequence[Role] = ("user", "item"),
    hint: str = "",
) -> dict[Role, ColumnChoice]:
    """Settle a column for every role; time may stay absent, the others are looked for only if needed or named."""
    roles: list[Role] = ["user", "item", "time"]
    roles += ["category"] if given.get("category") is not None else []
    roles += ["rating"] if "rating" in needed else []
    choices = {role: _choose(role, header, given, preset, role in needed, hint) for role in roles}
    taken: dict[str, Role] = {}
    for choice in choices.values():
        if choice.column is None:
            continue
        if header.columns.count(choice.column) > 1:
            raise InvalidInput(f"Column `{choice.column}` appears more than once in {header.table}; give it one name.")
        if choice.column in taken:
            other = taken[choice.column]
            raise InvalidInput(
                f"Column `{choice.column}` of {header.table} cannot be both {other} and {choice.role}; "
                f"name another with {option(choice.role)}."
            )
        taken[choice.column] = choice.role
    return choices


def choose_column(role: Literal["latitude", "longitude"], header: Header, wanted: str | None) -> str:
    """The column of one coordinate, as named or by its usual names; refuses one that is called like the other."""
    spelled, other = ("lat", "longitude") if role == "latitude" else ("lon", "latitude")
    given = None if wanted is None else _plain(wanted)
    if given in _SYNONYMS[cast(Role, other)]:
        raise InvalidInput(
            f"Column `{wanted}` of {header.table} is named for the {role} and called like the {other}; are "
            f"{option('lat')} and {option('lon')} swapped?"
        )
    if wanted is not None:
        require_columns([wanted], header)
        return wanted
    found = _guess(role, header, ())
    if found is None:
        raise InvalidInput(
            f"No column of {header.table} looks like the {role}; found: {header.listed()}. Name it with "
            f"{option(spelled)}."
        )
    return found


def missing_column(column: str, header: Header, wanted: Iterable[str | None] = ()) -> str:
    """Say that a column is not there, which one may be meant, and which there are."""
    if _garbled(header):
        return (
            f"Column `{column}` is missing from {header.table}, whose line of names is not UTF-8; convert the file, as "
            "in `iconv -f latin1 -t utf-8 old.csv > new.csv`."
        )
    plain = {_plain(other): other for other in reversed(header.columns[:_LOOKED_AT])}
    near = [
        plain[name]
        for name in difflib.get_close_matches(_plain(column), list(plain), 1, _NEAR)
        if header.may_show(plain[name])
    ]
    listed = header.listed(wanted)
    if near:
        return f"Column `{column}` is missing from {header.table}; did you mean `{near[0]}`? Found: {listed}."
    return f"Column `{column}` is missing from {header.table}; found: {listed}."


def require_columns(wanted: Sequence[str], header: Header) -> None:
    """Refuse names of columns that a table does not have, or has twice."""
    for column in wanted:
        if column not in header.columns:
            raise InvalidInput(missing_column(column, header, wanted))
        if header.columns.count(column) > 1:
            raise InvalidInput(f"Column `{column}` appears more than once in {header.table}; give it one name.")


def _garbled(header: Header) -> bool:
    """Whether names were written in another encoding than they were read."""
    return any("\N{REPLACEMENT CHARACTER}" in name for name in header.columns)


def _plain(name: str) -> str:
    """Letters and digits of a name alone, lower case."""
    return "".join(filter(str.isalnum, name.lower()))


def _guess(role: Role, header: Header, claimed: Collection[str | None]) -> str | None:
    """The column that is called what this role is usually called, among those that nobody claims."""
    plain = {_plain(column): column for column in reversed(header.columns) if column not in claimed}
    return next((plain[word] for word in _SYNONYMS[role] if word in plain), None)


def _choose(
    role: Role,
    header: Header,
    given: Mapping[str, str | None],
    preset: Mapping[Role, str] | None,
    needed: bool,
    hint: str,
) -> ColumnChoice:
    found, name = header.columns, header.table
    wanted = given.get(role)
    if wanted is not None:
        if wanted not in found:
            remedy = "" if _garbled(header) else f" Name it with {option(role)}.{hint}"
            raise InvalidInput(f"{missing_column(wanted, header, given.values())}{remedy}")
        return ColumnChoice(role, wanted, "given")
    if preset is not None:
        column = preset.get(role)
        if column is not None and column not in found:
            raise InvalidInput(
                f"Column `{column}` of the preset is missing from {name}; found: {header.listed()}.{hint}"
            )
        return ColumnChoice(role, column, "absent" if column is None else "preset")
    claimed = set(given.values())
    guess = _guess(role, header, claimed)
    if guess is None and needed:
        if role == "item" and _guess("latitude", header, claimed) and _guess("longitude", header, claimed):
            hint = f" It has coordinates: {option('cells')} h3:9 makes items of them.{hint}"
        if role == "user":
            hint = f" A table with one row per person is for `entropie attributes`.{hint}"
        raise InvalidInput(
            f"No column of {name} looks like the {role}; found: {header.listed(claimed)}. "
            f"Name it with {option(role)}.{hint}"
        )
    return ColumnChoice(role, guess, "absent" if guess is None else "guessed")
