//! Reads XML as a tree of elements with namespaces (XML 1.0, Namespaces in XML 1.0), within limits.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

/// The maximum number of elements in a document.
pub(super) const MAX_ELEMENTS: usize = 200_000;
/// The maximum nesting depth of elements.
pub(super) const MAX_DEPTH: usize = 128;

/// An XML element.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct XmlNode {
    /// The namespace of the element; empty if the element has no namespace.
    pub(super) namespace: String,
    /// The name of the element without its prefix.
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<XmlNode>,
    /// The element's own text, without the text of its children.
    text: String,
}

/// An XML document.
#[derive(Debug, Default)]
pub(super) struct XmlTree {
    pub(super) root: XmlNode,
    /// The encoding in the XML declaration.
    pub(super) encoding: Option<String>,
    /// The processing instructions before the root.
    pub(super) instructions: Vec<String>,
}

impl XmlNode {
    /// Returns the element's text without surrounding spaces.
    pub(super) fn text(&self) -> &str {
        self.text.trim_ascii()
    }

    /// Returns the first child with this name in any namespace, or `None` if there is no such child.
    pub(super) fn child(&self, name: &str) -> Option<&XmlNode> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the text of the first child with this name, or `None` if there is no such child.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(Self::text)
    }

    /// Returns the children of the first child with this name.
    pub(super) fn list(&self, name: &str) -> &[XmlNode] {
        self.child(name).map_or(&[], |child| &child.children)
    }
}

impl XmlTree {
    /// Parses a document. Octets that are not UTF-8 are replaced with U+FFFD.
    ///
    /// # Errors
    /// The document is not well-formed, has a document type declaration, or exceeds a limit; the message contains the reason.
    pub(super) fn read(octets: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy(octets);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut reader = NsReader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let mut tree = Self::default();
        let mut open: Vec<XmlNode> = Vec::new();
        let (mut elements, mut has_root) = (0, false);
        loop {
            let position = reader.buffer_position();
            let (namespace, event) = reader
                .read_resolved_event()
                .map_err(|error| format!("{error} (octet {position})"))?;
            match event {
                Event::Start(start) => {
                    elements += 1;
                    if elements > MAX_ELEMENTS {
                        return Err(format!("more than {MAX_ELEMENTS} elements"));
                    }
                    if open.len() == MAX_DEPTH {
                        return Err(format!("elements nested more than {MAX_DEPTH} levels deep"));
                    }
                    if open.is_empty() && has_root {
                        return Err(format!("a second outermost element (octet {position})"));
                    }
                    open.push(node(namespace, &start)?);
                }
                Event::End(_) => match (open.pop(), open.last_mut()) {
                    (Some(done), Some(parent)) => parent.children.push(done),
                    (Some(done), None) => (tree.root, has_root) = (done, true),
                    (None, _) => return Err(format!("an end without a start (octet {position})")),
                },
                Event::Decl(declaration) => {
                    let encoding = declaration.encoding().and_then(Result::ok);
                    tree.encoding = encoding.map(|encoding| encoding.into_owned());
                }
                Event::PI(instruction) if !has_root && open.is_empty() => {
                    let text: &str = &instruction;
                    tree.instructions.push(text.to_owned());
                }
                Event::DocType(_) => {
                    return Err(format!("a document type (octet {position})"));
                }
                Event::Eof => break,
                event => match open.last_mut() {
                    Some(node) => put_text(&mut node.text, &event),
                    None if is_blank(&event) => {}
                    None => return Err(format!("text outside of elements (octet {position})")),
                },
            }
        }
        if has_root && open.is_empty() {
            Ok(tree)
        } else if elements == 0 {
            Err("no element".to_owned())
        } else {
            Err("the end within an element".to_owned())
        }
    }
}

fn node(namespace: ResolveResult<'_>, start: &BytesStart<'_>) -> Result<XmlNode, String> {
    let namespace = match namespace {
        ResolveResult::Bound(namespace) => {
            let name: &str = namespace.as_ref();
            name.to_owned()
        }
        ResolveResult::Unbound => String::new(),
        ResolveResult::Unknown(prefix) => {
            return Err(format!("the prefix {prefix:?}, which is not declared"));
        }
    };
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let key: &str = attribute.key.as_ref();
        let value = attribute
            .normalized_value(quick_xml::XmlVersion::Implicit1_0)
            .map_err(|error| error.to_string())?;
        attributes.push((key.to_owned(), value.into_owned()));
    }
    let name: &str = start.name().into_inner();
    Ok(XmlNode {
        namespace,
        name: name
            .rsplit_once(':')
            .map_or(name, |(_, local)| local)
            .to_owned(),
        attributes,
        ..XmlNode::default()
    })
}

fn put_text(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(part) => text.push_str(&part.xml10_content()),
        Event::CData(part) => text.push_str(&part.xml10_content()),
        Event::GeneralRef(reference) => {
            let name = reference.xml10_content();
            match (resolve_xml_entity(&name), reference.resolve_char_ref()) {
                (Some(meant), _) => text.push_str(meant),
                (None, Ok(Some(character))) => text.push(character),
                _ => text.extend(["&", &*name, ";"]),
            }
        }
        _ => {}
    }
}

/// Returns whether an event outside the root is white space or a comment.
fn is_blank(event: &Event<'_>) -> bool {
    match event {
        Event::Text(part) => part.xml10_content().trim_ascii().is_empty(),
        Event::CData(_) | Event::GeneralRef(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_trees_with_namespaces() {
        let tree = XmlTree::read(
            b"<?xml version='1.0' encoding='UTF-8'?><?a b?><x:r xmlns:x='urn:x' xmlns='urn:d' n='1'>a&amp;<c>b</c>&#x63;<x:e/></x:r>",
        );
        let tree = tree.expect("XML");
        assert_eq!(tree.encoding.as_deref(), Some("UTF-8"));
        assert_eq!(tree.instructions, ["a b"]);
        let root = &tree.root;
        assert_eq!(
            (&*root.namespace, &*root.name, root.text()),
            ("urn:x", "r", "a&c")
        );
        assert!(root.attributes.contains(&("n".to_owned(), "1".to_owned())));
        let names: Vec<_> = root
            .children
            .iter()
            .map(|child| &*child.namespace)
            .collect();
        assert_eq!(names, ["urn:d", "urn:x"]);
        assert_eq!(root.text_of("c"), Some("b"));
    }

    #[test]
    fn malformed_documents_are_refused() {
        for (text, words) in [
            ("", "no element"),
            ("a", "text outside"),
            ("<a>", "within an element"),
            ("<a></b>", "b"),
            ("<a/><b/>", "second outermost"),
            ("<a/>b", "text outside"),
            ("<x:a/>", "not declared"),
            ("<!DOCTYPE a><a/>", "document type"),
            ("<a b='1' b='2'/>", "duplicate"),
        ] {
            let error = XmlTree::read(text.as_bytes()).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn depth_and_number_are_limited() {
        let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
        assert!(XmlTree::read(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(XmlTree::read(nested(MAX_DEPTH + 1).as_bytes()).is_err());
        let wide = |number: usize| format!("<a>{}</a>", "<b/>".repeat(number - 1));
        assert!(XmlTree::read(wide(MAX_ELEMENTS).as_bytes()).is_ok());
        assert!(XmlTree::read(wide(MAX_ELEMENTS + 1).as_bytes()).is_err());
    }
}
