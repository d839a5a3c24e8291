//! The Gopher+ string of a URL: views, attributes, and the answers to a form.
//! Source: Gopher URL draft §2.4–§2.8 and §3.

use super::super::octets::Octets;

/// The third field of a request, after the selector and the search string. CR, LF and tab are allowed only in a filled
/// form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GopherPlus(Octets);

/// The meaning of a [`GopherPlus`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlusRequest {
    /// `+`, `+format` or `+format language`: the item itself, in its default view or another view.
    View {
        /// The media type of the view, such as `text/html`, or `None` for the default view.
        format: Option<Octets>,
        /// The language of the view, such as `Es_ES`.
        language: Option<Octets>,
    },
    /// `?`: the item has a form.
    Form,
    /// `!` or `$`, with or without names: attributes of items.
    Attributes {
        /// The items whose attributes are requested.
        scope: AttributeScope,
        /// The names of the requested attributes with their `+`, such as `+ABSTRACT`. The list is empty for all
        /// attributes.
        names: Vec<Octets>,
    },
    /// `+`, tab, `1` and lines: the item that results from these answers to its form.
    Answers(Vec<Octets>),
    /// Any other string, which is sent unchanged.
    Other,
}

/// The items whose attributes are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeScope {
    /// `!`: the item itself.
    Item,
    /// `$`: all items in a directory. If the item is not a directory, this is the same as `!`.
    Directory,
}

impl AttributeScope {
    fn mark(self) -> u8 {
        match self {
            AttributeScope::Item => b'!',
            AttributeScope::Directory => b'$',
        }
    }
}

/// The text before the answers in a filled form (draft §3.2).
const FORM_BEGIN: &[u8] = b"+\t1\r\n+-1\r\n";
/// The text after the answers in a filled form.
const FORM_END: &[u8] = b".\r\n";

impl GopherPlus {
    /// Creates the Gopher+ string, which follows the second tab of a request. Returns `None` if the text contains CR, LF
    /// or a tab and is not a completed form.
    pub fn new(text: impl Into<Octets>) -> Option<Self> {
        let text = text.into();
        let is_line = !text
            .as_bytes()
            .iter()
            .any(|octet| b"\t\r\n".contains(octet));
        (is_line || answers(text.as_bytes()).is_some()).then_some(Self(text))
    }

    /// Returns the string `+`, which requests the default view.
    pub fn default_view() -> Self {
        Self(b"+".into())
    }

    /// Returns the string `?`, which marks an item with a form.
    pub fn form() -> Self {
        Self(b"?".into())
    }

    /// Creates a request for attributes by name, or for all attributes if there are no names. Returns `None` if a name
    /// contains CR, LF or a tab.
    pub fn attributes(scope: AttributeScope, names: &[&str]) -> Option<Self> {
        Self::new([&[scope.mark()], names.join(" ").as_bytes()].concat())
    }

    /// Creates a request for a view other than the default. Returns `None` if a part contains CR, LF or a tab.
    pub fn view(format: &str, language: Option<&str>) -> Option<Self> {
        let language = language.map_or_else(String::new, |language| format!(" {language}"));
        Self::new(format!("+{format}{language}"))
    }

    /// Combines the answers to a form, one per line. Returns `None` if an answer contains CR or LF, or is a lone dot, which would
    /// end the form.
    pub fn answers<T: AsRef<[u8]>>(answers: &[T]) -> Option<Self> {
        let mut text = FORM_BEGIN.to_vec();
        for answer in answers {
            let answer = answer.as_ref();
            if answer == b"." || answer.iter().any(|octet| b"\r\n".contains(octet)) {
                return None;
            }
            text.extend_from_slice(answer);
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(FORM_END);
        Some(Self(text.into()))
    }

    /// Returns the octets after the second tab.
    pub fn octets(&self) -> &Octets {
        &self.0
    }

    /// Returns the request that the string expresses.
    pub fn request(&self) -> PlusRequest {
        match self.0.as_bytes() {
            b"?" => PlusRequest::Form,
            [b'!', names @ ..] => attributes(AttributeScope::Item, names),
            [b'$', names @ ..] => attributes(AttributeScope::Directory, names),
            text => match (answers(text), text) {
                (Some(answers), _) => PlusRequest::Answers(answers),
                (None, [b'+', view @ ..]) => {
                    let mut words = words(view);
                    PlusRequest::View {
                        format: words.next(),
                        language: words.next(),
                    }
                }
                _ => PlusRequest::Other,
            },
        }
    }

    /// Returns whether this is a filled form. The octets of a filled form include its end mark.
    pub fn is_filled_form(&self) -> bool {
        self.0.as_bytes().starts_with(FORM_BEGIN)
    }
}

/// Returns whether two attribute names are equal, ignoring letter case. `+VIEW` in RFC 1738 is the same as `+VIEWS` in
/// the draft.
pub(crate) fn same_attribute(one: &[u8], other: &[u8]) -> bool {
    let plural = |name: &[u8]| match name.to_ascii_uppercase() {
        name if name == b"+VIEW" => b"+VIEWS".to_vec(),
        name => name,
    };
    plural(one) == plural(other)
}

fn attributes(scope: AttributeScope, names: &[u8]) -> PlusRequest {
    PlusRequest::Attributes {
        scope,
        names: words(names).collect(),
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = Octets> {
    text.split(|&octet| octet == b' ')
        .filter(|word| !word.is_empty())
        .map(Octets::from)
}

/// Returns the answers in text, if it is a filled form.
fn answers(text: &[u8]) -> Option<Vec<Octets>> {
    let lines = text.strip_prefix(FORM_BEGIN)?.strip_suffix(FORM_END)?;
    if lines.is_empty() {
        return Some(Vec::new());
    }
    let lines = lines.strip_suffix(b"\r\n")?;
    let mut answers = Vec::new();
    let mut rest = Some(lines);
    while let Some(text) = rest {
        let end = text.windows(2).position(|pair| pair == b"\r\n");
        let (answer, tail) = match end {
            Some(end) => (text.get(..end)?, text.get(end + 2..)),
            None => (text, None),
        };
        if answer == b"." || answer.iter().any(|octet| b"\r\n".contains(octet)) {
            return None;
        }
        answers.push(answer.into());
        rest = tail;
    }
    Some(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plus_string_gives_its_request() {
        let view = |format: Option<&str>, language: Option<&str>| PlusRequest::View {
            format: format.map(Octets::from),
            language: language.map(Octets::from),
        };
        let named = |scope, names: &[&str]| PlusRequest::Attributes {
            scope,
            names: names.iter().map(|&name| name.into()).collect(),
        };
        let filled = |answers: &[&str]| {
            PlusRequest::Answers(answers.iter().map(|&answer| answer.into()).collect())
        };
        for (text, expected) in [
            ("+", Some(view(None, None))),
            ("+text/html", Some(view(Some("text/html"), None))),
            (
                "+text/html Es_ES",
                Some(view(Some("text/html"), Some("Es_ES"))),
            ),
            ("?", Some(PlusRequest::Form)),
            ("!", Some(named(AttributeScope::Item, &[]))),
            ("$", Some(named(AttributeScope::Directory, &[]))),
            (
                "!+ABSTRACT +ADMIN",
                Some(named(AttributeScope::Item, &["+ABSTRACT", "+ADMIN"])),
            ),
            (
                "$+VIEWS",
                Some(named(AttributeScope::Directory, &["+VIEWS"])),
            ),
            ("", Some(PlusRequest::Other)),
            ("??", Some(PlusRequest::Other)),
            ("+\t1\r\n+-1\r\n.\r\n", Some(filled(&[]))),
            ("+\t1\r\n+-1\r\n\r\n.\r\n", Some(filled(&[""]))),
            (
                "+\t1\r\n+-1\r\nNew York\r\n\r\nU\tS\r\n.\r\n",
                Some(filled(&["New York", "", "U\tS"])),
            ),
            ("+\t1\r\n+-1\r\n.\r\n.\r\n", None),
            ("+\t1\r\n+-1\r\na\rb\r\n.\r\n", None),
            ("+\t1\r\n+-1\r\na.\r\n", None),
            ("+\r\nQUIT", None),
            ("+a\tb", None),
        ] {
            let plus = GopherPlus::new(text);
            assert_eq!(plus.as_ref().map(GopherPlus::request), expected, "{text:?}");
            if let Some(PlusRequest::Answers(answers)) = expected {
                assert_eq!(GopherPlus::answers(&answers), plus, "{text:?}");
            }
        }
        assert_eq!(GopherPlus::answers(&["."]), None);
        assert_eq!(GopherPlus::answers(&["a\nb"]), None);
        assert_eq!(
            GopherPlus::view("a/b", Some("De")),
            GopherPlus::new("+a/b De")
        );
        assert_eq!(
            GopherPlus::attributes(AttributeScope::Item, &["+A", "+B"]),
            GopherPlus::new("!+A +B")
        );
        assert!(same_attribute(b"+View", b"+VIEWS") && !same_attribute(b"+ASK", b"+VIEWS"));
    }
}
