//! Indented XML: one element per line. Elements with text of their own are unchanged, because white space in them may be
//! significant (Extensible Markup Language 1.0 §2.10).

/// Elements below this level are indented no further.
const DEEPEST: usize = 40;

/// Markup, or the text between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markup<'a> {
    Open(&'a str),
    Close(&'a str),
    /// An empty element, a comment, a processing instruction or a declaration.
    Alone(&'a str),
    Text(&'a str),
}

/// The document with its elements on lines of their own; unchanged if it is not well-formed.
pub(super) fn indent(xml: &str) -> String {
    let Some((parts, ends)) = parts(xml) else {
        return xml.to_owned();
    };
    let mut out = String::with_capacity(xml.len());
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(part) = parts.get(at) {
        let line = match *part {
            Markup::Text(text) if text.trim().is_empty() => None,
            Markup::Text(text) | Markup::Alone(text) => Some((depth, text.trim())),
            Markup::Close(text) => {
                depth = depth.saturating_sub(1);
                Some((depth, text))
            }
            Markup::Open(text) => match ends.get(at).copied().flatten() {
                Some(end) => {
                    put_line(depth, "", &mut out);
                    for part in parts.iter().take(end + 1).skip(at) {
                        out.push_str(part.text());
                    }
                    out.push('\n');
                    at = end;
                    None
                }
                None => {
                    depth += 1;
                    Some((depth - 1, text))
                }
            },
        };
        if let Some((depth, text)) = line {
            put_line(depth, text, &mut out);
            out.push('\n');
        }
        at += 1;
    }
    out
}

fn put_line(depth: usize, text: &str, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
    out.push_str(text);
}

impl<'a> Markup<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Open(text) | Self::Close(text) | Self::Alone(text) | Self::Text(text) => text,
        }
    }
}

/// The markup and text of a document, and for each start tag of an element with text of its own, or without content, the
/// index of its end tag.
fn parts(xml: &str) -> Option<(Vec<Markup<'_>>, Vec<Option<usize>>)> {
    let (mut parts, mut ends) = (Vec::new(), Vec::new());
    // The open elements: the index of the start tag, and whether the element stays unchanged.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut rest = xml;
    while !rest.is_empty() {
        let end = end_of_markup(rest)?;
        let (text, after) = rest.split_at_checked(end)?;
        rest = after;
        let here = parts.len();
        ends.push(None);
        parts.push(if text.starts_with("</") {
            let (begin, stays) = open.pop()?;
            if stays || begin + 1 == here {
                *ends.get_mut(begin)? = Some(here);
            }
            Markup::Close(text)
        } else if text.starts_with("<!") || text.starts_with("<?") || text.ends_with("/>") {
            if text.starts_with("<![CDATA[") {
                open.last_mut()?.1 = true;
            }
            Markup::Alone(text)
        } else if text.starts_with('<') {
            open.push((here, false));
            Markup::Open(text)
        } else {
            if let (false, Some((_, stays))) = (text.trim().is_empty(), open.last_mut()) {
                *stays = true;
            }
            Markup::Text(text)
        });
    }
    open.is_empty().then_some((parts, ends))
}

/// The length of the markup or text at the beginning.
fn end_of_markup(text: &str) -> Option<usize> {
    for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
        if text.starts_with(begin) {
            return Some(text.find(end)? + end.len());
        }
    }
    if !text.starts_with('<') {
        return Some(text.find('<').unwrap_or(text.len()));
    }
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(character),
            (Some(mark), character) if mark == character => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_on_lines_of_their_own() {
        for (xml, expected) in [
            ("<a/>", "<a/>\n"),
            ("<a></a>", "<a></a>\n"),
            (
                "<a> <b>x</b><c y='>'/> </a>",
                "<a>\n  <b>x</b>\n  <c y='>'/>\n</a>\n",
            ),
            (
                "<?xml version='1.0'?><a><b><c>1</c></b></a>",
                "<?xml version='1.0'?>\n<a>\n  <b>\n    <c>1</c>\n  </b>\n</a>\n",
            ),
            (
                "<a>mixed <b>text <i>in</i></b> it</a>",
                "<a>mixed <b>text <i>in</i></b> it</a>\n",
            ),
            (
                "<a><!-- <b> --><![CDATA[<c>]]></a>",
                "<a><!-- <b> --><![CDATA[<c>]]></a>\n",
            ),
            ("<a><b></a", "<a><b></a"),
            ("</a>", "</a>"),
            ("no markup", "no markup\n"),
            ("<a", "<a"),
            ("", ""),
        ] {
            assert_eq!(indent(xml), expected, "{xml}");
        }
    }

    #[test]
    fn depth_costs_no_more_than_length() {
        let (levels, open) = (50_000, "<a>");
        let deep = format!("{}<b/>{}", open.repeat(levels), "</a>".repeat(levels));
        assert!(indent(&deep).len() < deep.len() + 2 * levels * (2 * DEEPEST + 1) + 100);
    }
}
