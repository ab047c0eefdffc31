"""The one table of what words in names of columns say: ranking, keys, aggregation, names and periods read it.

Words are written as names are cut into them: small, without accents; a plural counts as its singular.
"""

from __future__ import annotations

_NUMBER = ("no", "num", "number", "nr")
"""Words for a number that names (``house number``) or counts (``number of houses``)."""

_FOREIGN_NUMBER = (*("nummer", "numero", "cislo", "szam", "numara", "nomor", "номер", "αριθμος"),)

IDENTIFIER = ("id", "ids", "code", "codes", "key", *_NUMBER, "fk", "pk")

_REFERENCE = ("identifier", "uid", "uuid", "guid", "ref", "reference", "phone")

_CODE_SYSTEM = (
    *("fips", "geoid", "zip", "zipcode", "postcode", "postal", "plz", "insee", "iso", "nuts", "osm", "wikidata"),
    *("isbn", "issn", "doi", "pmid", "orcid", "ean", "gtin", "upc", "sku", "ssn", "siren", "siret"),
    *("naics", "isic", "nace", "cpv", "icd", "ndc", "npi", "cik", "isin", "cusip"),
    *("mmsi", "wmo", "wban", "usaf", "icao", "iata"),
)
"""Published systems of codes, but for those whose name is a common word or abbreviation (``HS`` is also shots of the
home team)."""

_DATE_PART = ("year", "date", "month", "quarter")

_YEAR = ("year", "yr", "season", "date", "period", "time")
"""Words that let one expect years among whole numbers."""

_FOREIGN_YEAR = (
    *("jahr", "annee", "ano", "anio", "anno", "jaar", "aar", "rok", "vuosi", "год", "yil", "tahun", "年", "연도"),
)

_FOREIGN_IDENTIFIER = {
    "German": ("kennung", "kennzeichen", "kennzahl", "kennziffer", "schlussel", "schluessel", "ags", "artnr"),
    "French": ("identifiant", "cle", "matricule", "cp", "siret", "cog"),
    "Spanish": ("codigo", "cod", "clave", "cve", "identificador", "folio", "matricula", "dni", "nif", "rut"),
    "Portuguese": ("codigo", "cod", "chave", "cep", "cpf", "cnpj", "ibge", "matricula", "cadastro"),
    "Italian": ("codice", "cod", "chiave", "istat", "identificativo", "matricola", "piva"),
    "Dutch": ("sleutel", "kenmerk", "bsn", "kvk"),
    "Swedish, Danish, Norwegian": ("kod", "kode", "nyckel", "nogle", "nokkel", "orgnr", "cvr"),
    "Finnish": ("koodi", "tunnus", "tunniste", "avain"),
    "Polish": ("kod", "klucz", "identyfikator", "nip", "regon", "pesel", "teryt"),
    "Czech, Slovak": ("kod", "klic", "kluc", "identifikator", "psc"),
    "Hungarian, Romanian": ("kod", "azonosito", "kulcs", "iranyitoszam", "cheie", "siruta"),
    "Turkish": ("kod", "kodu", "anahtar", "kimlik"),
    "Russian, Ukrainian": ("код", "ключ", "индекс", "идентификатор", "ідентифікатор", "инн", "октмо", "окпо"),
    "Greek": ("κωδικος", "κλειδι"),
    "Indonesian": ("kode", "kunci"),
    "Chinese": ("编号", "编码", "代码", "号码", "邮编", "編號", "代碼"),
    "Japanese": ("番号", "コード", "郵便番号"),
    "Korean": ("번호", "코드", "우편번호"),
    "Arabic": ("رمز", "رقم", "معرف", "كود"),
}
"""Words for identifiers in other languages."""

ENDS_OF_IDENTIFIERS = (
    *("nr", "nummer", "nummern", "schlüssel", "schluessel", "kennung", "kennziffer", "kennzahl", "leitzahl", "numero"),
    *("koodi", "tunnus", "code", "kode", "kod", "编号", "编码", "代码", "号码", "番号", "コード", "번호", "코드"),
)
"""Ends of compounds that are one word: ``Kundennummer``, ``Gemeindeschlüssel``, ``postinumero``, ``zipcode``."""

_CLASS = (
    *("class", "type", "kind", "category", "group", "status", "flag", "sex", "gender", "cluster", "stratum", "version"),
    *("level", "grade", "stage", "tier", "label", "title", "name", "klasse", "clase", "classe", "tipo", "typ", "typen"),
    *("position", "pos", "round", "matchday", "sequence", "seq", "bucket", "quantile", "quintile", "decile", "regime"),
    *("weekday", "day", "week", "hour", "minute", "second", "timestamp", "season", "era", "decade", "period", "time"),
    *("classification", "division", "occupation", "origin", "slot", "series", "leg", "congress"),
    *("direction", "dir", "bearing", "heading", "azimuth"),
)
"""Words for classes and times, under which a whole number says which one it is."""

_THING = (
    *("district", "ward", "precinct", "sector", "zone", "region", "county", "state", "country", "block", "lot"),
    *("tract", "parcel", "route", "track", "channel", "station", "room", "building", "site", "plot", "section"),
    *("account", "line", "batch", "ticket", "invoice", "order", "item", "product", "customer", "user", "employee"),
    *("member", "student", "person", "patient", "subject", "player", "team", "author", "movie", "film", "song"),
    *("artist", "album", "case", "game", "match", "run", "draw", "event", "session", "trial", "experiment", "sample"),
    *("school", "store", "review", "comment", "question", "answer", "message", "file", "document", "page", "vehicle"),
    *("flight", "trip", "objectid", "oid", "serial", "telephone", "tel", "fax", "mobile", "url", "ip", "port", "pin"),
    *(
        "barcode",
        "idx",
        "index",
        "isrc",
        "vin",
        "imo",
        "tin",
        "ein",
        "lei",
        "bic",
        "iban",
        "cas",
        "msa",
        "pmsa",
        "cbsa",
    ),
    *("dpto", "mpio", "gemeinde", "kreis", "kunde", "artikel", "commune", "departement", "client", "produit"),
    *("municipio", "cliente", "comune", "provincia", "estado", "estabelecimento", "gmina", "powiat", "kommun"),
    *("kommune", "kunta", "gemeente"),
)
"""Words for things: a whole number says which one it is under ``user``, and how many there are under ``users``."""

MEASURES = (
    *("count", "total", "sum", "avg", "average", "mean", "median", "amount", "rate", "pct", "percent", "percentage"),
    *("ratio", "share", "score", "vote", "point", "goal", "price", "cost", "population", "weight", "mass", "height"),
    *("speed", "size", "length", "width", "area", "age", "duration", "distance", "volume", "income", "revenue"),
    *("profit", "death", "case", "qty", "quantity", "min", "max", "std", "wage", "salary", "temperature"),
)
"""Words of headers that say that a number was measured or counted."""

_MORE_MEASURES = (
    *("people", "pop", "inhabitant", "household", "passenger", "birth", "pupil", "enrollment", "enrolment"),
    *("visitor", "sale", "budget", "value", "tax", "fee", "debt", "balance", "payment", "expense", "expenditure"),
    *("gdp", "spend", "depth", "elevation", "altitude", "pressure", "density", "humidity", "rainfall"),
    *("precipitation", "energy", "power", "hp", "mpg", "acceleration", "displacement", "calorie", "fat", "protein"),
    *("sugar", "sodium", "dose", "capacity", "win", "loss", "hit", "assist", "rebound", "attempt", "yard", "shot"),
    *("foul", "lap", "medal", "rating", "rank", "like", "view", "follower", "download", "click", "star", "variance"),
    *("sd", "error", "deviation", "percentile", "probability", "frequency", "km", "kg", "meter", "usd", "eur"),
    *("dollar", "euro", "cent", "einwohner", "bevolkerung", "anzahl", "flache", "preis", "betrag", "summe", "anteil"),
    *("umsatz", "hohe", "menge", "habitante", "poblacion", "cantidad", "precio", "importe", "monto", "superficie"),
    *("edad", "tasa", "promedio", "populacao", "quantidade", "preco", "valor", "idade", "taxa", "media", "nombre"),
    *("effectif", "montant", "prix", "popolazione", "abitanti", "quantita", "prezzo", "importo", "aantal", "bedrag"),
    *("prijs", "oppervlakte", "antal", "liczba", "ilosc", "cena", "kwota", "pocet", "население", "количество"),
    *("цена", "сумма", "площадь", "人口", "数量"),
)
"""Words for measures that the choice of keys does not know, so that scores stay as they are."""

LATITUDE = ("latitude", "latitud", "latitudine", "breitengrad", "breite", "lat")
LONGITUDE = (
    *("longitude", "longitud", "longitudine", "laengengrad", "längengrad", "laenge", "länge", "long", "lng", "lon"),
)
_COORDINATE = ("coord", "coordinate", "coordenada", "koordinate", "easting", "northing", "utm", "geom", "geometry")
_AXIS = ("x", "y")

_CONNECTING = ("the", "of", "and", "in", "by", "to")
_COUNTED = ("of", "de", "di", "do", "da", "der", "von", "van")
"""Words behind a number that counts: ``number of houses``, ``numero de casas``."""

UNSPECIFIC = (*IDENTIFIER, "name", "names", *_CONNECTING, "csv", "tsv", "data")
GENERIC = (
    *("id", "code", "name", "key", "value", "number", "no", "index", "row", "rowname", "unnamed", "x", "type"),
    *("rowid", "rownum", "rownumber"),
    *("title", "label", "description", "text", "date", "year", "time", "identifier"),
)
NAMING = (
    *IDENTIFIER,
    *_REFERENCE,
    *("account", "pk", "fk"),
    *_DATE_PART,
    *_CODE_SYSTEM,
    *_FOREIGN_NUMBER,
    *_FOREIGN_YEAR,
    *sum(_FOREIGN_IDENTIFIER.values(), ()),
)
"""What the score of candidates takes for a name of something, beside the words for things in the singular."""

_NOTHING_ALONE = (
    *("name", "value", "label", "type", "kind", "class", "group", "code", "id", "key", "index", "number", "count"),
    *("total", "sum", "mean", "average", "min", "max", "rank", "text", "unit", "rate", "percent", "percentage"),
    *("amount", "score", "val", "no", "num", "avg", "category", "data", "description", "status"),
)
"""Names of columns that mean nothing without their table."""

_NUMBERED_ALONE = ("column", "col", "field", "var", "variable", "unnamed")
"""Names that a program gives, with a number behind them."""

_ROW_ORDER = (
    *("row", "rowid", "rowname", "rownum", "rownumber", "record", "index", "idx", "n", "i", "counter", "serial"),
    *("order", "position", "pos", "rank", "level", "seq", "sequence"),
)
"""Words for the place of a row among the others."""

CALENDAR_HEADERS = (
    *("date", "day", "week", "month", "quarter", "year", "season", "weekday", "hour", "time", "date/time", "timestamp"),
    *("day of week", "day of month", "day of year", "week of year"),
)
"""Headers that tables of any subject have beside days and years."""

RELATIONS = ("via", "from", "for", "at", "on", "with", "into", "per", "ref", "reference")
"""Words that tell how, and not to what, a column refers."""

ROLES = (
    *("parent", "ancestor", "predecessor", "successor", "previous", "prev", "next", "superior", "root"),
    *("reports", "supervisor", "original", "duplicate", "replaces", "replaced", "supersedes", "superseded"),
)
"""What a row is for another row of its table."""

PERSON_ROLES = ("manager", "boss", "chief", "head", "leader", "mentor", "mother", "father", "spouse", "partner")
PERSONS = (
    *("employee", "employees", "staff", "person", "persons", "people", "user", "users", "member", "members"),
    *("worker", "workers", "student", "students", "customer", "customers", "contact", "contacts"),
)

_GIVEN = (
    *("first", "given", "forename", "firstname", "givenname", "fname", "vorname", "prenom", "nombre", "nome"),
    *("voornaam", "fornavn", "fornamn", "etunimi", "imie", "jmeno", "имя"),
)
_FAMILY = (
    *("last", "family", "surname", "lastname", "familyname", "lname", "nachname", "familienname", "nom", "apellido"),
    *("cognome", "sobrenome", "apelido", "achternaam", "etternavn", "efternavn", "efternamn", "sukunimi", "nazwisko"),
    *("prijmeni", "фамилия"),
)
_PLACE = (
    *("city", "town", "village", "municipality", "county", "district", "parish", "stadt", "ort", "gemeinde", "kreis"),
    *("landkreis", "ville", "commune", "ciudad", "municipio", "cidade", "citta", "comune", "miasto", "город"),
)
_AREA = (
    *("county", "state", "province", "region", "country", "bundesland", "land", "departement", "pays", "provincia"),
    *("estado", "pais", "regione", "paese", "wojewodztwo", "область", "страна"),
)

NAME_PARTS = (("given", "family"), ("family", "given"), ("place", "area"))
"""A name of the first meaning is whole with one of the second: there is a Portland in Oregon and in Maine."""

COMPOUNDS = (_THING, ("id", "code", "key", "no", "nr", "num", "seq", "fp", "ce"))
"""First and last parts of words that are written as one: ``siteid``, ``orderno``, ``statefp``."""

MEANINGS: dict[str, tuple[str, ...]] = {
    "number": (*_NUMBER, *_FOREIGN_NUMBER),
    "counted": _COUNTED,
    "thing": _THING,
    "class": (*_CLASS, *_DATE_PART, *_FOREIGN_YEAR),
    "code": (*IDENTIFIER, *_REFERENCE, *_CODE_SYSTEM, *sum(_FOREIGN_IDENTIFIER.values(), ())),
    "measure": (*MEASURES, *_MORE_MEASURES),
    "coordinate": (*LATITUDE, *LONGITUDE, *_COORDINATE),
    "axis": _AXIS,
    "year": (*_YEAR, *_FOREIGN_YEAR),
    "nothing": _NOTHING_ALONE,
    "column": _NUMBERED_ALONE,
    "no subject": (
        *(*IDENTIFIER, *_ROW_ORDER, *_NUMBERED_ALONE, "name", "value", "ref"),
        *("x", "count", "total", "sum", "score", "point"),
    ),
    "given": _GIVEN,
    "family": _FAMILY,
    "place": _PLACE,
    "area": _AREA,
}
"""What a word means where the meaning of a whole name is asked for; a word may have several."""
