//! The model of SRU answers: the children of each element, and their order (srw-types.xsd for SRU 1.1 and 1.2; sruResponse.xsd,
//! scan.xsd and diagnostic.xsd for OASIS searchRetrieve 1.0).

use z3950_asn1::sru::Version;

use super::tree::XmlNode;

/// The namespace of 1.1 and 1.2, which is also a prefix of the namespace of diagnostics.
pub(super) const OLD: &str = "http://www.loc.gov/zing/srw/";
const OLD_DIAGNOSTIC: &str = "http://www.loc.gov/zing/srw/diagnostic/";
/// The common prefix of the namespaces of 2.0.
pub(super) const NEW: &str = "http://docs.oasis-open.org/ns/search-ws/sruResponse";
const NEW_SCAN: &str = "http://docs.oasis-open.org/ns/search-ws/scan";
const NEW_DIAGNOSTIC: &str = "http://docs.oasis-open.org/ns/search-ws/diagnostic";
/// The namespace of explain records (ZeeRex 2.0).
pub(super) const ZEEREX: &str = "http://explain.z3950.org/dtd/2.0/";

/// The elements of 1.1 with their children. `?` marks children that may be absent, `*` and `+` mark children that may be
/// repeated, and `...` represents elements from other namespaces.
const MODELS_1_1: &[(&str, &str)] = &[
    (
        "searchRetrieveResponse",
        "version numberOfRecords resultSetId? resultSetIdleTime? records? nextRecordPosition? echoedSearchRetrieveRequest? diagnostics? extraResponseData?",
    ),
    ("records", "record+"),
    (
        "record",
        "recordSchema recordPacking recordData recordPosition? extraRecordData?",
    ),
    (
        "scanResponse",
        "version terms? echoedScanRequest? diagnostics? extraResponseData?",
    ),
    ("terms", "term+"),
    (
        "term",
        "value numberOfRecords? displayTerm? whereInList? extraTermData?",
    ),
    (
        "explainResponse",
        "version record? echoedExplainRequest? diagnostics? extraResponseData?",
    ),
    (
        "echoedSearchRetrieveRequest",
        "version query? xQuery? startRecord? maximumRecords? recordPacking? recordSchema? recordXPath? resultSetTTL? sortKeys? xSortKeys? stylesheet? extraRequestData?",
    ),
    (
        "echoedScanRequest",
        "version scanClause? xScanClause? responsePosition? maximumTerms? stylesheet? extraRequestData?",
    ),
    (
        "echoedExplainRequest",
        "version recordPacking? stylesheet? extraRequestData?",
    ),
];

/// The elements of 1.2 whose children differ from 1.1.
const MODELS_1_2: &[(&str, &str)] = &[(
    "record",
    "recordSchema recordPacking recordData recordIdentifier? recordPosition? extraRecordData?",
)];

const MODELS_2_0: &[(&str, &str)] = &[
    (
        "searchRetrieveResponse",
        "version? numberOfRecords? resultSetId? records? nextRecordPosition? echoedSearchRetrieveRequest? diagnostics? extraResponseData* ... resultSetTTL? resultCountPrecision* facetedResults* searchResultAnalysis*",
    ),
    ("records", "record+"),
    (
        "record",
        "recordSchema recordPacking? recordXMLEscaping? recordData recordPosition? extraRecordData? ...",
    ),
    (
        "scanResponse",
        "version? terms? echoedScanRequest? diagnostics? extraResponseData? ...",
    ),
    ("terms", "term+"),
    (
        "term",
        "value numberOfRecords? displayTerm? whereInList? extraTermData? ...",
    ),
    (
        "explainResponse",
        "version? record? echoedExplainRequest? diagnostics? extraResponseData?",
    ),
    (
        "echoedSearchRetrieveRequest",
        "version? queryType? query? xQuery* startRecord? maximumRecords? recordXMLEscaping? recordPacking? recordSchema? facetParameters? resultSetTTL? sortKeys? xSortKeys* stylesheet? renderedBy? extraRequestParameter* httpAccept* responseType?",
    ),
    (
        "echoedExplainRequest",
        "version? recordXMLEscaping? recordPacking? stylesheet? extraRequestData?",
    ),
];

/// The elements whose children are the same in all versions.
const DIAGNOSTICS: &[(&str, &str)] = &[
    ("diagnostics", "diagnostic+"),
    ("diagnostic", "uri details? message?"),
];

/// Elements whose contents are defined by the server.
const OPEN: &[&str] = &[
    "recordData",
    "extraRecordData",
    "extraResponseData",
    "extraTermData",
    "extraRequestData",
    "xQuery",
    "xScanClause",
    "facetedResults",
    "searchResultAnalysis",
];

/// Returns the namespaces of a response and of its diagnostics.
pub(super) fn namespaces(version: Version, response: &str) -> (&'static str, &'static str) {
    match (version, response) {
        (Version::V2_0, "scanResponse") => (NEW_SCAN, NEW_DIAGNOSTIC),
        (Version::V2_0, _) => (NEW, NEW_DIAGNOSTIC),
        _ => (OLD, OLD_DIAGNOSTIC),
    }
}

fn model(version: Version, name: &str) -> Option<&'static str> {
    let tables: &[&[(&str, &'static str)]] = match version {
        Version::V1_1 => &[MODELS_1_1, DIAGNOSTICS],
        Version::V1_2 => &[MODELS_1_2, MODELS_1_1, DIAGNOSTICS],
        Version::V2_0 => &[MODELS_2_0, DIAGNOSTICS],
    };
    let mut rows = tables.iter().copied().flatten();
    rows.find(|(element, _)| *element == name)
        .map(|(_, children)| *children)
}

/// Finds the first element below a node whose children are misplaced, missing or repeated. Returns its expected and its actual
/// children, or `None` if there is no such element. If `only` is not `None`, only elements with this name are checked.
pub(super) fn order_fault(
    version: Version,
    node: &XmlNode,
    only: Option<&str>,
) -> Option<(String, String)> {
    let is_looked_at = only.is_none_or(|only| only == node.name);
    let own = model(version, &node.name).filter(|_| is_looked_at);
    if let Some(children) = own
        && let Some(came) = misplaced(node, children)
    {
        return Some((format!("{}: {children}", node.name), came));
    }
    if OPEN.contains(&&*node.name) {
        return None;
    }
    let mut children = node.children.iter();
    children.find_map(|child| order_fault(version, child, only))
}

/// Returns a description of the error in an element's children, or `None` if they are correct.
fn misplaced(node: &XmlNode, model: &str) -> Option<String> {
    let mut children = node.children.iter().peekable();
    for word in model.split_ascii_whitespace() {
        let (name, mark) = match word.strip_suffix(['?', '*', '+']) {
            Some(name) => (name, word.chars().last()),
            None => (word, None),
        };
        let is_it = |child: &XmlNode| match name {
            "..." => child.namespace != node.namespace,
            name => child.name == name,
        };
        let mut count = 0;
        while children.peek().is_some_and(|child| is_it(child)) {
            children.next();
            count += 1;
        }
        let fault = match (count, mark) {
            _ if name == "..." => None,
            (0, None | Some('+')) => Some("is missing, or not in its place"),
            (2.., None | Some('?')) => Some("is repeated"),
            _ => None,
        };
        if let Some(fault) = fault {
            return Some(format!("{}: {name} {fault}", list(node)));
        }
    }
    let left = children.next()?;
    Some(format!(
        "{}: {} is not known, or not in its place",
        list(node),
        left.name
    ))
}

/// Lists the name of an element and the names of its children.
fn list(node: &XmlNode) -> String {
    let names: Vec<&str> = node.children.iter().map(|child| &*child.name).collect();
    let names = names.get(..names.len().min(MAX_NAMES)).unwrap_or_default();
    format!("{}: {}", node.name, names.join(" "))
}

/// The maximum number of names in a list for a message.
const MAX_NAMES: usize = 24;

/// Finds the first SRU element below a node that has a wrong namespace. Returns the expected and the actual namespace, or `None`
/// if all namespaces are correct.
pub(super) fn namespace_fault(
    node: &XmlNode,
    (own, of_diagnostics): (&str, &str),
) -> Option<(String, String)> {
    let is_own = |name: &str| own == NEW && matches!(name, "facetedResults");
    let wanted = match &*node.name {
        "diagnostic" | "uri" | "details" | "message" => of_diagnostics,
        _ => own,
    };
    if node.namespace != wanted && !is_own(&node.name) {
        let came = match &*node.namespace {
            "" => "no namespace".to_owned(),
            other => other.to_owned(),
        };
        return Some((wanted.to_owned(), format!("{} in {came}", node.name)));
    }
    if OPEN.contains(&&*node.name) {
        return None;
    }
    let mut children = node.children.iter();
    // In version 2.0, elements from foreign namespaces may appear among those of SRU.
    let is_foreign = |child: &XmlNode| own != OLD && !child.namespace.contains("search-ws");
    children.find_map(|child| {
        if is_foreign(child) && model(Version::V2_0, &child.name).is_none() {
            None
        } else {
            namespace_fault(child, (own, of_diagnostics))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::XmlTree;
    use super::*;

    fn root(text: &str) -> XmlNode {
        XmlTree::read(text.as_bytes()).expect("XML").root
    }

    #[test]
    fn children_have_an_order() {
        for (version, text, expected) in [
            (
                Version::V1_1,
                "<scanResponse><version/><terms><term><value/></term></terms></scanResponse>",
                None,
            ),
            (
                Version::V1_1,
                "<scanResponse><terms/><version/></scanResponse>",
                Some("version is missing"),
            ),
            (
                Version::V1_1,
                "<scanResponse><version/><terms/></scanResponse>",
                Some("term is missing"),
            ),
            (
                Version::V1_1,
                "<scanResponse><version/><version/></scanResponse>",
                Some("version is repeated"),
            ),
            (
                Version::V1_1,
                "<scanResponse><version/><colour/></scanResponse>",
                Some("colour is not known"),
            ),
            (
                Version::V1_1,
                "<record><recordSchema/><recordPacking/><recordData/><recordIdentifier/></record>",
                Some("recordIdentifier is not known"),
            ),
            (
                Version::V1_2,
                "<record><recordSchema/><recordPacking/><recordData><a/></recordData><recordIdentifier/></record>",
                None,
            ),
            (
                Version::V2_0,
                "<searchRetrieveResponse><extraResponseData/><extraResponseData/><x xmlns='u'/><resultCountPrecision/></searchRetrieveResponse>",
                None,
            ),
            (
                Version::V2_0,
                "<searchRetrieveResponse><resultCountPrecision/><numberOfRecords/></searchRetrieveResponse>",
                Some("numberOfRecords is not known"),
            ),
            (
                Version::V2_0,
                "<diagnostics><diagnostic><uri/><message/><details/></diagnostic></diagnostics>",
                Some("details is not known"),
            ),
        ] {
            let fault = order_fault(version, &root(text), None).map(|(_, came)| came);
            match expected {
                None => assert_eq!(fault, None, "{text}"),
                Some(words) => assert!(
                    fault.as_ref().is_some_and(|fault| fault.contains(words)),
                    "{text}: {fault:?}"
                ),
            }
        }
    }

    #[test]
    fn elements_are_in_the_namespaces_of_their_version() {
        for (version, response, text, expected) in [
            (
                Version::V1_1,
                "scanResponse",
                "<scanResponse xmlns='http://www.loc.gov/zing/srw/'><diagnostics><diagnostic xmlns='http://www.loc.gov/zing/srw/diagnostic/'><uri/></diagnostic></diagnostics></scanResponse>",
                None,
            ),
            (
                Version::V1_1,
                "scanResponse",
                "<scanResponse xmlns='http://www.loc.gov/zing/srw'/>",
                Some("scanResponse in http://www.loc.gov/zing/srw"),
            ),
            (
                Version::V1_1,
                "scanResponse",
                "<scanResponse xmlns='http://www.loc.gov/zing/srw/'><diagnostics><diagnostic/></diagnostics></scanResponse>",
                Some("diagnostic in http://www.loc.gov/zing/srw/"),
            ),
            (
                Version::V2_0,
                "scanResponse",
                "<scanResponse xmlns='http://docs.oasis-open.org/ns/search-ws/sruResponse'/>",
                Some("scanResponse in http://docs.oasis-open.org/ns/search-ws/sruResponse"),
            ),
            (
                Version::V1_1,
                "explainResponse",
                "<z:explainResponse xmlns:z='http://www.loc.gov/zing/srw/'><record/></z:explainResponse>",
                Some("record in no namespace"),
            ),
        ] {
            let fault = namespace_fault(&root(text), namespaces(version, response));
            assert_eq!(fault.map(|(_, came)| came).as_deref(), expected, "{text}");
        }
    }
}
