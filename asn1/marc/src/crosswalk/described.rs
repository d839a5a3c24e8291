//! Converts MODS 3 and Dublin Core records to MARC 21, so that citations and table columns can be made from them as from MARC records. The
//! result is not suitable for catalogues: data that a citation does not need is left out.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::record::{Field, Leader, MarcRecord};
use crate::standard_number::{Isbn, Issn};
use crate::text::without_separators;

/// The maximum number of elements that are read, and the maximum depth of nested elements.
const MAX_ELEMENTS: usize = 20_000;
const MAX_DEPTH: usize = 64;

/// Converts a document that contains a MODS 3 or Dublin Core record (also as wrapped by SRU or OAI-PMH) to MARC 21 in UTF-8. Returns `None`
/// if the document does not contain such a record, is not well-formed, has more than 20,000 elements, or nests elements more than 64 deep.
pub fn described_in_xml(document: &[u8]) -> Option<MarcRecord> {
    let root = Element::read(std::str::from_utf8(document).ok()?)?;
    let mut description = Description::default();
    match root.first("mods") {
        Some(mods) => description.mods(mods),
        None => description.dublin_core(&root),
    }
    let Description { kind, mut fields } = description;
    if fields.is_empty() {
        return None;
    }
    fields.sort_by_key(|field| field.tag);
    let mut leader = Leader::default();
    if let Some(octet) = leader.0.get_mut(6) {
        *octet = kind.unwrap_or(b' ');
    }
    Some(MarcRecord { leader, fields })
}

/// An XML element. Its `name` is the local name.
#[derive(Debug, Default)]
struct Element {
    name: String,
    prefix: String,
    attributes: Vec<(String, String)>,
    /// The text directly in the element.
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// Parses a document, and returns an element without a name whose only child is the root element.
    fn read(text: &str) -> Option<Self> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().allow_dangling_amp = true;
        reader.config_mut().expand_empty_elements = true;
        let mut open = vec![Self::default()];
        let mut elements = 0;
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => {
                    elements += 1;
                    if elements > MAX_ELEMENTS || open.len() > MAX_DEPTH {
                        return None;
                    }
                    open.push(Self::of(&start));
                }
                Event::End(_) => {
                    let element = open.pop()?;
                    open.last_mut()?.children.push(element);
                }
                Event::Text(text) => open.last_mut()?.text.push_str(&text.xml10_content()),
                Event::CData(text) => open.last_mut()?.text.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let element = open.last_mut()?;
                    match resolve_xml_entity(&reference.xml10_content()) {
                        Some(meant) => element.text.push_str(meant),
                        None => element
                            .text
                            .extend(reference.resolve_char_ref().ok().flatten()),
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        let root = open.pop();
        root.filter(|_| open.is_empty())
    }

    fn of(start: &BytesStart<'_>) -> Self {
        let (name, qualified) = (start.local_name(), start.name());
        let (name, qualified): (&str, &str) = (name.as_ref(), qualified.as_ref());
        let prefix = qualified.split_once(':').map_or("", |(prefix, _)| prefix);
        let mut attributes = start.attributes();
        let attributes = attributes.with_checks(false).flatten().map(|attribute| {
            let key: &str = attribute.key.as_ref();
            (key.to_owned(), plain(attribute.value.to_string()))
        });
        Self {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    fn attribute(&self, name: &str) -> &str {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }

    /// Returns the text directly in the element, on one line.
    fn words(&self) -> String {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        plain(words.join(" "))
    }

    /// Returns the first descendant with this name, in document order.
    fn first(&self, name: &str) -> Option<&Self> {
        self.children.iter().find_map(|child| {
            if child.name == name {
                Some(child)
            } else {
                child.first(name)
            }
        })
    }

    /// Returns the children with this name.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the text of the first child with this name; empty if there is none.
    fn text_of(&self, name: &str) -> String {
        self.all(name).next().map(Self::words).unwrap_or_default()
    }
}

/// Returns the text without the ISO 2709 separators, which would change the structure of the record.
fn plain(text: String) -> String {
    without_separators(&text, "\u{FFFD}").unwrap_or(text)
}

/// The data read from a record so far.
#[derive(Debug, Default)]
struct Description {
    /// The type of record (leader/06).
    kind: Option<u8>,
    fields: Vec<Field>,
}

impl Description {
    /// Adds a field with the subfields that are not empty.
    fn add(&mut self, tag: &[u8; 3], subfields: &[(&str, String)]) {
        let subfields: Vec<(&str, String)> = subfields
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .cloned()
            .collect();
        if !subfields.is_empty() {
            self.fields.push(Field::data(tag, "  ", subfields));
        }
    }

    fn has(&self, tag: &[u8; 3]) -> bool {
        self.fields.iter().any(|field| field.tag.0 == *tag)
    }

    /// Reads the Dublin Core elements (DCMES 1.1) within an element.
    fn dublin_core(&mut self, parent: &Element) {
        for element in &parent.children {
            let is_core = parent.name == "dc"
                || matches!(&*element.prefix, "dc" | "dcterms")
                || element.attribute("xmlns") == "http://purl.org/dc/elements/1.1/";
            if is_core && element.children.is_empty() {
                self.core(&element.name, element.words());
            } else {
                self.dublin_core(element);
            }
        }
    }

    fn core(&mut self, name: &str, text: String) {
        match name {
            "title" if !self.has(b"245") => self.add(b"245", &[("a", text)]),
            "title" | "alternative" => self.add(b"246", &[("a", text)]),
            "creator" if !self.has(b"100") => self.add(b"100", &[("a", text)]),
            "creator" | "contributor" => self.add(b"700", &[("a", text)]),
            "publisher" => self.add(b"260", &[("b", text)]),
            "date" | "issued" | "created" => self.add(b"260", &[("c", text)]),
            "identifier" => self.identifier("", text, "a"),
            "language" => self.add(b"041", &[("a", text)]),
            "subject" => self.add(b"650", &[("a", text)]),
            "description" | "abstract" => self.add(b"520", &[("a", text)]),
            "type" => match dcmi_type(&text) {
                Some(kind) => self.kind = Some(kind),
                None => self.add(b"655", &[("a", text)]),
            },
            "format" | "extent" => self.add(b"300", &[("a", text)]),
            "source" => self.add(b"786", &[("n", text)]),
            "relation" => self.add(b"787", &[("n", text)]),
            "coverage" | "spatial" => self.add(b"651", &[("a", text)]),
            "rights" => self.add(b"540", &[("a", text)]),
            _ => {}
        }
    }

    /// Adds a number for the publication. Its kind is `kind` or, if that is empty, is recognised from the text, as in
    /// `urn:isbn:0141439513`. `code` is the subfield code.
    fn identifier(&mut self, kind: &str, text: String, code: &str) {
        let (kind, text) = match kind {
            "" => {
                let (kind, number) = kind_of_number(&text);
                (kind.to_owned(), number)
            }
            kind => (kind.to_ascii_lowercase(), text),
        };
        match &*kind {
            "isbn" => self.add(b"020", &[(code, text)]),
            "issn" => self.add(b"022", &[(code, text)]),
            "lccn" => self.add(b"010", &[(code, text)]),
            "oclc" if text.starts_with('(') => self.add(b"035", &[(code, text)]),
            "oclc" => self.add(b"035", &[(code, format!("(OCoLC){text}"))]),
            "uri" => self.add(b"856", &[("u", text)]),
            _ => self.add(b"024", &[(code, text)]),
        }
    }

    /// Reads the top-level elements of a MODS record (MODS 3.0 to 3.8).
    fn mods(&mut self, mods: &Element) {
        let names: Vec<&Element> = mods.all("name").collect();
        let main = names
            .iter()
            .position(|name| name.attribute("usage") == "primary");
        let main = main.or_else(|| names.iter().position(|name| is_creator(name)));
        for (index, name) in names.into_iter().enumerate() {
            self.name(name, main == Some(index));
        }
        for element in &mods.children {
            match &*element.name {
                "titleInfo" => self.title(element),
                "typeOfResource" => self.kind = self.kind.or(kind_of_resource(element)),
                "genre" => self.add(b"655", &[("a", element.words())]),
                "originInfo" => self.origin(element),
                "language" => self.language(element),
                "physicalDescription" => {
                    for extent in element.all("extent") {
                        self.add(b"300", &[("a", extent.words())]);
                    }
                }
                "abstract" => self.add(b"520", &[("a", element.words())]),
                "tableOfContents" => self.add(b"505", &[("a", element.words())]),
                "note" => self.add(b"500", &[("a", element.words())]),
                "subject" => self.subject(element),
                "relatedItem" => self.related(element),
                "identifier" => {
                    let is_invalid = element.attribute("invalid") == "yes";
                    let code = if is_invalid { "z" } else { "a" };
                    self.identifier(element.attribute("type"), element.words(), code);
                }
                "location" => {
                    for url in element.all("url") {
                        self.add(b"856", &[("u", url.words())]);
                    }
                }
                "accessCondition" => self.add(b"540", &[("a", element.words())]),
                "recordInfo" => self.record_info(element),
                _ => {}
            }
        }
    }

    fn title(&mut self, title: &Element) {
        let is_main = title.attribute("type").is_empty() && !self.has(b"245");
        let tag = if is_main { b"245" } else { b"246" };
        let start = title.text_of("nonSort");
        let is_joined = start.is_empty() || start.ends_with(['\'', '\u{2019}']);
        let blank = if is_joined { "" } else { " " };
        let main = format!("{start}{blank}{}", title.text_of("title"));
        let rest = title.text_of("subTitle");
        let main = if rest.is_empty() {
            main
        } else {
            format!("{main} :")
        };
        let (number, name) = (title.text_of("partNumber"), title.text_of("partName"));
        self.add(tag, &[("a", main), ("b", rest), ("n", number), ("p", name)]);
    }

    fn name(&mut self, name: &Element, is_main: bool) {
        let tag = match (name.attribute("type"), is_main) {
            ("corporate", true) => b"110",
            ("conference", true) => b"111",
            (_, true) => b"100",
            ("corporate", false) => b"710",
            ("conference", false) => b"711",
            (_, false) => b"700",
        };
        let of = |kind: &str| {
            let parts = name
                .all("namePart")
                .filter(|part| part.attribute("type") == kind);
            let words: Vec<String> = parts.map(Element::words).collect();
            words.join(" ")
        };
        let (family, given, plain) = (of("family"), of("given"), of(""));
        let text = match (plain.is_empty(), given.is_empty()) {
            (false, _) => plain,
            (true, true) => family,
            (true, false) => format!("{family}, {given}"),
        };
        let (title, dates) = (of("termsOfAddress"), of("date"));
        self.add(tag, &[("a", text), ("c", title), ("d", dates)]);
    }

    fn origin(&mut self, origin: &Element) {
        let dates = ["dateIssued", "copyrightDate", "dateCreated", "dateOther"];
        // Prefer dates as printed to coded dates.
        let dates = dates.into_iter().flat_map(|name| {
            let is_coded = |date: &&Element| !date.attribute("encoding").is_empty();
            let printed = origin.all(name).filter(move |date| !is_coded(date));
            printed.chain(origin.all(name).filter(is_coded))
        });
        let date = dates.map(Element::words).find(|date| !date.is_empty());
        // In MARC 21, this year belongs in 008/07-10.
        let mut coded = origin.all("dateIssued");
        let coded = coded.find(|date| date.attribute("encoding") == "marc");
        if let Some(year) = coded.map(Element::words).filter(|year| year.len() == 4)
            && !self.has(b"008")
        {
            self.fields
                .push(Field::control(b"008", format!("      s{year}")));
        }
        let places = origin.all("place").flat_map(|place| place.all("placeTerm"));
        let place = places
            .filter(|place| place.attribute("type") != "code")
            .map(Element::words)
            .next();
        let publisher = origin.text_of("publisher");
        let subfields = [
            ("a", place.unwrap_or_default()),
            ("b", publisher),
            ("c", date.unwrap_or_default()),
        ];
        self.add(b"260", &subfields);
        self.add(b"250", &[("a", origin.text_of("edition"))]);
    }

    fn language(&mut self, language: &Element) {
        let terms: Vec<&Element> = language.all("languageTerm").collect();
        let is_code = |term: &&&Element| term.attribute("type") == "code";
        let term = terms.iter().find(is_code).or(terms.first());
        let text = term.map_or_else(|| language.words(), |term| term.words());
        self.add(b"041", &[("a", text)]);
    }

    fn subject(&mut self, subject: &Element) {
        let mut tag = b"650";
        let mut subfields = Vec::new();
        for part in &subject.children {
            let (first, code, text) = match &*part.name {
                "geographic" => (b"651", "z", part.words()),
                "temporal" => (b"648", "y", part.words()),
                "genre" => (b"650", "v", part.words()),
                "name" => (b"600", "x", part.text_of("namePart")),
                "titleInfo" => (b"630", "x", part.text_of("title")),
                "topic" | "occupation" => (b"650", "x", part.words()),
                _ => continue,
            };
            if subfields.is_empty() {
                tag = first;
                subfields.push(("a", text));
            } else {
                subfields.push((code, text));
            }
        }
        self.add(tag, &subfields);
    }

    fn related(&mut self, related: &Element) {
        let title = related.all("titleInfo").next();
        let title = title
            .map(|title| title.text_of("title"))
            .unwrap_or_default();
        match related.attribute("type") {
            "series" => self.add(b"490", &[("a", title)]),
            "host" => self.add(b"773", &[("t", title)]),
            _ => self.add(b"787", &[("t", title)]),
        }
    }

    fn record_info(&mut self, info: &Element) {
        if let Some(id) = info.all("recordIdentifier").next() {
            let numbers = [
                (b"001", id.words()),
                (b"003", id.attribute("source").to_owned()),
            ];
            for (tag, text) in numbers {
                if !text.is_empty() && !self.has(tag) {
                    self.fields.push(Field::control(tag, text));
                }
            }
        }
    }
}

/// Returns whether a MODS name may be the main entry: it has no role, or the role of an author.
fn is_creator(name: &Element) -> bool {
    let mut terms = name
        .all("role")
        .flat_map(|role| role.all("roleTerm"))
        .map(|term| term.words().to_ascii_lowercase())
        .peekable();
    terms.peek().is_none()
        || terms.any(|term| matches!(&*term, "creator" | "author" | "aut" | "cre"))
}

/// Returns the kind of a number, and the number without its kind: `isbn` and `0141439513` for `urn:ISBN:0141439513`. The kind is empty if
/// it cannot be recognised.
pub(super) fn kind_of_number(text: &str) -> (&'static str, String) {
    let lower = text.to_ascii_lowercase();
    let lower = lower.strip_prefix("urn:").unwrap_or(&lower);
    for kind in ["isbn", "issn", "lccn", "oclc"] {
        let number = lower
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix([':', ' ']));
        if let Some(number) = number {
            return (kind, number.trim().to_ascii_uppercase());
        }
    }
    let kind = if Isbn::parse(text).is_some() {
        "isbn"
    } else if Issn::parse(text).is_some() {
        "issn"
    } else if text.starts_with("(OCoLC)") {
        "oclc"
    } else if is_uri(lower) {
        "uri"
    } else {
        ""
    };
    (kind, text.to_owned())
}

fn is_uri(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let is_of_scheme = |octet: u8| octet.is_ascii_alphanumeric() || b"+-.".contains(&octet);
    scheme.is_some_and(|scheme| scheme.bytes().all(is_of_scheme))
}

/// Returns leader/06 for a type from the DCMI Type Vocabulary.
fn dcmi_type(text: &str) -> Option<u8> {
    Some(match text {
        "Text" => b'a',
        "StillImage" | "Image" => b'k',
        "MovingImage" => b'g',
        "Sound" => b'i',
        "Software" => b'm',
        "Collection" => b'p',
        "PhysicalObject" => b'r',
        _ => return None,
    })
}

/// Returns leader/06 for a `typeOfResource` (MODS 3).
fn kind_of_resource(element: &Element) -> Option<u8> {
    Some(match &*element.words() {
        "text" if element.attribute("manuscript") == "yes" => b't',
        "text" => b'a',
        "cartographic" => b'e',
        "notated music" => b'c',
        "sound recording-musical" => b'j',
        "sound recording" | "sound recording-nonmusical" => b'i',
        "still image" => b'k',
        "moving image" => b'g',
        "three dimensional object" => b'r',
        "software, multimedia" => b'm',
        "mixed material" => b'p',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::crosswalk::Citation;
    use crate::crosswalk::dublin_core::{elements, to_dublin_core};
    use crate::crosswalk::mods::to_mods;
    use crate::random::{Random, rounds};
    use crate::{iso2709, mrk};

    fn citation(document: &str) -> serde_json::Value {
        let record = described_in_xml(document.as_bytes()).expect(document);
        Citation::of(&record).to_json().into()
    }

    #[test]
    fn audit_r_a11_citations_of_mods_and_dublin_core() {
        let expected = json!({
            "title": "The end & after",
            "author": "Austen, Jane",
            "year": 1813,
            "identifiers": {"isbn": ["9780141439518"], "issn": [], "lccn": [], "oclc": [], "local": []},
        });
        let core = "<dc:title>The end &amp; after</dc:title><dc:creator>Austen, Jane</dc:creator>\
            <dc:date>c1813.</dc:date><dc:identifier>urn:ISBN:0141439513</dc:identifier>\
            <dc:identifier>https://example.org/1</dc:identifier>";
        let plain = core.replace("dc:", "");
        for document in [
            format!("<oai_dc:dc xmlns:oai_dc=\"o\" xmlns:dc=\"d\">{core}</oai_dc:dc>"),
            format!("<?xml version=\"1.0\"?><srw_dc:dc xmlns:srw_dc=\"s\">{plain}</srw_dc:dc>"),
            format!("<metadata><record>{core}</record></metadata>"),
            plain
                .replace(
                    "<title>",
                    "<title xmlns=\"http://purl.org/dc/elements/1.1/\">",
                )
                .replacen('<', "<dc><", 1)
                + "</dc>",
        ] {
            assert_eq!(citation(&document), expected, "{document}");
        }
        let mods = "<mods:mods xmlns:mods=\"m\"><mods:titleInfo type=\"alternative\"><mods:title>Other</mods:title></mods:titleInfo>\
            <mods:titleInfo><mods:nonSort>The</mods:nonSort><mods:title>end &amp; after</mods:title></mods:titleInfo>\
            <mods:name type=\"personal\"><mods:namePart>Smith</mods:namePart><mods:role><mods:roleTerm>editor</mods:roleTerm></mods:role></mods:name>\
            <mods:name type=\"personal\"><mods:namePart type=\"family\">Austen</mods:namePart><mods:namePart type=\"given\">Jane</mods:namePart>\
            <mods:role><mods:roleTerm type=\"code\">aut</mods:roleTerm></mods:role></mods:name>\
            <mods:originInfo><mods:place><mods:placeTerm type=\"code\">enk</mods:placeTerm><mods:placeTerm type=\"text\">London</mods:placeTerm></mods:place>\
            <mods:publisher>Egerton</mods:publisher><mods:dateIssued encoding=\"marc\">1813</mods:dateIssued><mods:dateIssued>[1814?]</mods:dateIssued></mods:originInfo>\
            <mods:relatedItem type=\"host\"><mods:titleInfo><mods:title>Host</mods:title></mods:titleInfo><mods:identifier type=\"isbn\">0306406152</mods:identifier></mods:relatedItem>\
            <mods:identifier type=\"isbn\">0141439513 (pbk.)</mods:identifier><mods:typeOfResource>text</mods:typeOfResource></mods:mods>";
        assert_eq!(citation(mods), expected);
        let wrapped = format!("<modsCollection>{mods}</modsCollection>");
        assert_eq!(citation(&wrapped), expected);
        for (text, _) in mods
            .match_indices('<')
            .map(|(place, _)| mods.split_at(place))
        {
            let _ = described_in_xml(text.as_bytes());
        }
        for document in [
            "",
            "x",
            "<a>x</a>",
            "<html><title>x</title></html>",
            "<dc><title>x</dc>",
            "<dc/>",
        ] {
            assert_eq!(described_in_xml(document.as_bytes()), None, "{document}");
        }
        let many = format!("<dc>{}</dc>", "<title>x</title>".repeat(MAX_ELEMENTS));
        assert_eq!(described_in_xml(many.as_bytes()), None);
        let deep = "<dc>".repeat(100_000);
        assert_eq!(described_in_xml(deep.as_bytes()), None);
    }

    #[test]
    fn audit_r_a11_our_output_is_read_with_the_same_meaning() {
        let text = "=LDR  00000nam a2200000 a 4500\n=001  pg1\n=003  DE-1\n=008  971201s1813\\\\\\\\enk\\\\\\\\\\\\\\\\\\\\\\000\\1\\eng\\\\\n\
            =020  \\\\$a0141439513 (pbk.)\n=041  1\\$aeng$hrus\n=100  1\\$aTolstoy, Leo,$d1828-1910\n=245  10$aWar & peace :$ba <novel> /$cL.\n\
            =264  \\1$aLondon :$bEgerton,$c1869.\n=500  \\\\$aA note.\n=650  \\0$aWar$zRussia$vFiction.\n=700  1\\$aMaude, Aylmer\n\
            =856  40$uhttps://example.org/1\n";
        let record = mrk::parse_all(text).expect("a record").remove(0);
        let of = |document: &str| described_in_xml(document.as_bytes()).expect("a record");
        let expected = Citation::of(&record);
        let from_mods = of(&to_mods(&record));
        let found = Citation::of(&from_mods);
        assert_eq!(found, expected);
        let from_core = of(&to_dublin_core(&record));
        let is_compared = |(name, _): &(&str, String)| !matches!(*name, "identifier" | "date");
        let compared = |record: &MarcRecord| {
            let all = elements(record).into_iter();
            all.filter(is_compared).collect::<Vec<_>>()
        };
        assert_eq!(compared(&from_core), compared(&record));
        assert_eq!(compared(&from_mods), compared(&record));
    }

    #[test]
    fn audit_r_a4_separators_in_descriptions_are_not_structure() {
        for separator in ['\u{1D}', '\u{1E}', '\u{1F}'] {
            let number = u32::from(separator);
            for written in [
                separator.to_string(),
                format!("&#{number};"),
                format!("&#x{number:x};"),
                format!("<![CDATA[{separator}]]>"),
            ] {
                let title = format!("War{written}aPeace");
                let mods = "<mods><titleInfo><title>@</title></titleInfo>\
                    <recordInfo><recordIdentifier source=\"#\">@</recordIdentifier></recordInfo></mods>";
                let mods = mods.replace('#', &format!("DE{separator}1"));
                for (document, count) in [
                    (format!("<dc><title>{title}</title></dc>"), 1),
                    (mods.replace('@', &title), 3),
                ] {
                    let record = described_in_xml(document.as_bytes()).expect("a record");
                    assert_eq!(record.fields.len(), count, "{document:?}");
                    let octets = iso2709::encode(&record).expect("no separator in a control field");
                    let again = iso2709::parse(&octets.into()).expect("a record");
                    assert_eq!(again.record.fields, record.fields, "{document:?}");
                    let title = record.fields_by_tag("245").next().expect("a title");
                    let subfields: Vec<_> = title.subfields().collect();
                    let shown = String::from_utf8_lossy(subfields[0].data);
                    assert_eq!(
                        (subfields.len(), &*shown),
                        (1, "War\u{FFFD}aPeace"),
                        "{document:?}"
                    );
                }
            }
        }
    }

    /// Checks that a damaged document is either refused or becomes a record that can be written in every form.
    #[test]
    fn audit_r_a11_mutated_descriptions_are_read_or_refused() {
        const SPECIAL: &[u8] = b"<>/&;\"'=#x1F:-! \n\r\0\x1D\x1E\x1F\x80\xC3\xFF";
        let documents = [
            "<oai_dc:dc xmlns:oai_dc=\"o\" xmlns:dc=\"d\"><dc:title>The end &amp; after</dc:title><dc:creator>Austen, Jane</dc:creator>\
             <dc:date>c1813.</dc:date><dc:identifier>urn:ISBN:0141439513</dc:identifier><dc:language>eng</dc:language></oai_dc:dc>",
            "<metadata><record><dc:title><![CDATA[A <b>]]></dc:title><dc:type>Sound</dc:type><dc:subject>a -- b</dc:subject></record></metadata>",
            "<mods xmlns=\"http://www.loc.gov/mods/v3\"><titleInfo><nonSort>The</nonSort><title>end&#x20;x</title></titleInfo><name><namePart type=\"family\">\
             Austen</namePart></name><originInfo><dateIssued encoding=\"marc\">1813</dateIssued></originInfo><subject><topic>War</topic><geographic>Russia\
             </geographic></subject><identifier type=\"isbn\">0141439513</identifier><recordInfo><recordIdentifier source=\"DE\">x\
             </recordIdentifier></recordInfo></mods>",
        ];
        let mut random = Random(0x4D0D_5DC0);
        let mut read = 0;
        for document in documents {
            for _ in 0..rounds(500) {
                let mut octets = document.as_bytes().to_vec();
                for _ in 0..=random.below(4) {
                    let (at, octet) = (random.below(octets.len()), *random.pick(SPECIAL));
                    match random.below(4) {
                        0 | 1 => octets[at] = octet,
                        2 => octets.insert(at, octet),
                        _ => drop(octets.remove(at)),
                    }
                }
                let Some(record) = described_in_xml(&octets) else {
                    continue;
                };
                read += 1;
                let shown = octets.escape_ascii();
                let written = iso2709::encode(&record).expect("short");
                let again = iso2709::parse(&written.into()).expect("a record");
                assert_eq!(again.record.fields, record.fields, "{shown}");
                for form in crate::Form::ALL {
                    form.write(&record, &mut Vec::new()).expect("short");
                }
            }
        }
        assert!(read > 100, "{read}");
    }
}
