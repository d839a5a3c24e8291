//! Indents XML, with one element per line. Elements that contain text are left unchanged, because white space in them
//! may be significant (Extensible Markup Language 1.0 §2.10).

/// The maximum level of indentation. Elements at deeper levels are indented as if they were at this level.
const DEEPEST: usize = 40;

/// An element whose end tag has not been read yet.
struct Element {
    /// The index of the line on which the element begins.
    line: usize,
    /// The octet offset of the element's start tag. `content` is the offset of what follows the tag.
    begin: usize,
    content: usize,
    /// Whether the element contains text, in which case it stays on one line.
    has_text: bool,
}

/// Returns the document with each element on a line of its own. A document that is not well-formed is returned
/// unchanged.
pub(crate) fn indent(xml: &str) -> String {
    let Some(lines) = lines(xml) else {
        return xml.to_owned();
    };
    let mut out = String::with_capacity(xml.len());
    for (depth, text) in lines {
        out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
        out.push_str(text);
        out.push('\n');
    }
    out
}

/// Returns the lines of a document, each with its depth; `None` if the document is not well-formed. An element that
/// contains text, or is empty, forms one line.
fn lines(xml: &str) -> Option<Vec<(usize, &str)>> {
    let mut lines = Vec::new();
    let mut open: Vec<Element> = Vec::new();
    let mut at = 0;
    while at < xml.len() {
        let end = at + end_of_markup(xml.get(at..)?)?;
        let text = xml.get(at..end)?;
        if text.starts_with("</") {
            let element = open.pop()?;
            let is_one_line = element.has_text || element.content == at;
            let begin = if is_one_line { element.begin } else { at };
            if is_one_line {
                lines.truncate(element.line);
            }
            lines.push((open.len(), xml.get(begin..end)?));
        } else if !text.trim().is_empty() {
            lines.push((open.len(), text.trim()));
            let is_markup = text.starts_with('<');
            let is_alone = text.starts_with("<!") || text.starts_with("<?") || text.ends_with("/>");
            if text.starts_with("<![CDATA[") {
                open.last_mut()?.has_text = true;
            } else if is_markup && !is_alone {
                open.push(Element {
                    line: lines.len() - 1,
                    begin: at,
                    content: end,
                    has_text: false,
                });
            } else if let (false, Some(element)) = (is_markup, open.last_mut()) {
                element.has_text = true;
            }
        }
        at = end;
    }
    open.is_empty().then_some(lines)
}

/// Returns the length of the markup at the start of `text` or, if `text` does not begin with markup, of the text before
/// the next markup.
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
    fn elements_are_on_their_own_lines() {
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
    fn indentation_grows_linearly_with_depth() {
        let (levels, open) = (50_000, "<a>");
        let deep = format!("{}<b/>{}", open.repeat(levels), "</a>".repeat(levels));
        assert!(indent(&deep).len() < deep.len() + 2 * levels * (2 * DEEPEST + 1) + 100);
    }
}
