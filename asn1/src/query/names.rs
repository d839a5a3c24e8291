//! Words with index names instead of attribute numbers: `ti:"pride and prejudice" au:austen`. The default CCL
//! qualifiers and CQL indexes have the same names; their Use values come from Bib-1 (Z39.50-2003 §ATR.1).

mod years;

use std::collections::BTreeMap;

use self::years::{is_like_range, is_moment, is_of_years, range, years};
use super::suggest::nearest;
use super::{QueryError, QueryErrorKind, check_length};
use crate::apdu::{AttributeElement, MAX_RPN_DEPTH, Operator, RpnQuery, RpnStructure};
use crate::bib1::attributes::{
    RELATION, RELATION_EQUAL, STRUCTURE, STRUCTURE_URX, TRUNCATION, TRUNCATION_LEFT,
    TRUNCATION_LEFT_AND_RIGHT, TRUNCATION_RIGHT, USE, USE_ANY,
};

/// An index and its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexName {
    /// The full name of the index.
    pub name: &'static str,
    /// Abbreviations and other names of the index.
    pub aliases: &'static [&'static str],
    /// The Bib-1 Use value of the index.
    pub use_value: i64,
    /// The Bib-1 structure of the index's terms, if servers need it.
    pub structure: Option<i64>,
    /// An example of a query in the index.
    pub example: &'static str,
}

const fn index(
    name: &'static str,
    aliases: &'static [&'static str],
    use_value: i64,
    example: &'static str,
) -> IndexName {
    IndexName {
        name,
        aliases,
        use_value,
        structure: None,
        example,
    }
}

/// The index names that all query languages share.
pub const TABLE: &[IndexName] = &[
    index("any", &["kw", "keyword"], USE_ANY, "war"),
    index("anywhere", &[], 1035, "anywhere:war"),
    index("title", &["ti"], 4, "ti:\"war and peace\""),
    index("uniformtitle", &["ut"], 6, "ut:bible"),
    index("keytitle", &["kt"], 33, "kt:nature"),
    index("series", &["se"], 5, "se:\"penguin classics\""),
    index("author", &["au", "creator"], 1003, "au:tolstoy"),
    index("personalauthor", &["pa"], 1004, "pa:\"tolstoy, leo\""),
    index("corporateauthor", &["ca"], 1005, "ca:unesco"),
    index("conferenceauthor", &["cf"], 1006, "cf:\"world congress\""),
    index("name", &["na"], 1002, "na:tolstoy"),
    index("personalname", &["pn"], 1, "pn:tolstoy"),
    index("corporatename", &["cn"], 2, "cn:unesco"),
    index("conferencename", &["conference"], 3, "conference:congress"),
    index("geographicname", &["geo"], 58, "geo:russia"),
    index("editor", &["ed"], 1020, "ed:smith"),
    index("subject", &["su"], 21, "su:\"naval battles\""),
    index("lcsh", &[], 27, "lcsh:sisters"),
    index("mesh", &[], 25, "mesh:neoplasms"),
    index("genre", &[], 1075, "genre:\"war fiction\""),
    index("isbn", &[], 7, "isbn:9780141439518"),
    index("issn", &[], 8, "issn:0028-0836"),
    index("lccn", &[], 9, "lccn:2001000002"),
    index(
        "identifier",
        &["standardid"],
        1007,
        "identifier:9780141439518",
    ),
    index("local", &["id", "controlnumber"], 12, "id:pg1342"),
    IndexName {
        name: "docid",
        aliases: &[],
        use_value: 1032,
        structure: Some(STRUCTURE_URX),
        example: "docid:pg1342",
    },
    index("callnumber", &["call"], 53, "call:PR4034"),
    index("lccall", &["lcc"], 16, "lcc:PR4034"),
    index("dewey", &["ddc"], 13, "ddc:823.7"),
    index("udc", &[], 14, "udc:82-3"),
    index("publisher", &["pb"], 1018, "pb:penguin"),
    index("place", &["pl"], 59, "pl:london"),
    index("date", &["year", "yr"], 31, "year:1850-1860"),
    index("language", &["lang", "la"], 54, "la:eng"),
    index("abstract", &["ab", "description"], 62, "ab:army"),
    index("note", &["notes", "nt"], 63, "nt:translated"),
    index("type", &["materialtype"], 1031, "type:map"),
    index("bodytext", &["text"], 1010, "text:whale"),
    index("possessing", &["holder"], 1044, "holder:DLC"),
    index("modified", &[], 1012, "modified:>20200101"),
    index("added", &[], 1011, "added:>20200101"),
];

/// Index names and their Use values, from a profile and from [`TABLE`]. Names from the profile take precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The index names from the profile, in lower case, with their Use values.
    own: BTreeMap<String, i64>,
}

impl Names {
    /// Returns the same names with an additional name, which takes precedence over [`TABLE`].
    #[must_use]
    pub fn with(mut self, name: &str, use_value: i64) -> Self {
        self.own.insert(name.to_lowercase(), use_value);
        self
    }

    /// Returns the attributes for an index name; case is ignored. These are a Use attribute and, if the index has one
    /// in the table, a structure attribute, in the order in which they are sent.
    ///
    /// # Errors
    /// If the name is unknown, the error is the most similar known name, if there is one.
    pub fn attributes(&self, name: &str) -> Result<Vec<AttributeElement>, Option<String>> {
        let lower = name.to_lowercase();
        if let Some(&use_value) = self.own.get(&lower) {
            return Ok(vec![AttributeElement::numeric(USE, use_value)]);
        }
        let found = TABLE
            .iter()
            .find(|index| index.name == lower || index.aliases.contains(&lower.as_str()));
        let Some(index) = found else {
            let own = self.own.keys().map(String::as_str);
            let table = TABLE
                .iter()
                .flat_map(|index| std::iter::once(index.name).chain(index.aliases.iter().copied()));
            let similar = nearest(&lower, own.chain(table));
            // The full name is suggested, because it explains an abbreviation such as `pb`.
            return Err(similar.map(|similar| self.full_name(similar).to_owned()));
        };
        let mut attributes = vec![AttributeElement::numeric(USE, index.use_value)];
        attributes.extend(
            index
                .structure
                .map(|structure| AttributeElement::numeric(STRUCTURE, structure)),
        );
        Ok(attributes)
    }

    /// Returns the full name of the index that has this name or abbreviation.
    fn full_name<'a>(&self, name: &'a str) -> &'a str {
        let is_own = self.own.contains_key(name);
        let mut table = TABLE.iter().filter(|_| !is_own);
        let found = table.find(|index| index.aliases.contains(&name));
        found.map_or(name, |index| index.name)
    }

    /// Parses words with index names; see [`parse`].
    ///
    /// # Errors
    /// [`QueryError`], with the fault and its offset.
    pub fn parse(&self, text: &str) -> Result<RpnQuery, QueryError> {
        check_length(text)?;
        let mut reader = Reader {
            names: self,
            text,
            at: 0,
        };
        reader.query().map(RpnQuery::bib1)
    }
}

/// Parses words that must all occur, with optional index names: `ti:"pride and prejudice" au:austen`.
///
/// A name before a colon is the index of the word, quoted phrase or group in parentheses after it; case is ignored. The
/// default index is `any` (Use 1016). `AND`, `OR` and `NOT` in capitals are operators; they and adjacent words are
/// evaluated from left to right. In lower case they are words, as in `war and peace`. Between quotes, `\` escapes a
/// quote or a backslash.
///
/// In the index `year` or `date`, `1850-1860` is a range of years, as are `1850-` and `-1860`. Ranges use the Bib-1
/// relations 4 (at least) and 2 (at most). A range can also be written with `–` or `..`, and `185?` and `18??` are a
/// decade and a century. Between quotes, such text is a term.
///
/// `year:>1900` is a comparison, which uses the Bib-1 relations 1 (`<`), 2 (`<=`), 4 (`>=`), 5 (`>`) and 6 (`<>`).
/// Comparisons are also allowed in other indexes, but some servers refuse them. The colon may be left out, as in
/// `year>1900`.
///
/// `libr*` finds words that begin with `libr`, `*ology` words that end with `ology`, and `*port*` words that contain
/// `port` (Bib-1 type 5, which some servers refuse). Between quotes, an asterisk is part of the term.
///
/// # Errors
/// [`QueryError`], with the fault and its offset.
pub fn parse(text: &str) -> Result<RpnQuery, QueryError> {
    Names::default().parse(text)
}

/// The complete text or a group in parentheses, as far as it has been read.
struct Scope {
    /// The attributes of words that have no index name.
    attributes: Vec<AttributeElement>,
    /// The offset of the opening parenthesis.
    offset: usize,
    tree: Option<(RpnStructure, usize)>,
    operator: Option<Operator>,
}

impl Scope {
    fn new(attributes: Vec<AttributeElement>, offset: usize) -> Self {
        Self {
            attributes,
            offset,
            tree: None,
            operator: None,
        }
    }

    fn operand(&mut self, right: RpnStructure, depth: usize, at: usize) -> Result<(), QueryError> {
        let Some((left, left_depth)) = self.tree.take() else {
            self.tree = Some((right, depth));
            return Ok(());
        };
        let depth = depth.max(left_depth) + 1;
        if depth > MAX_RPN_DEPTH {
            return Err(QueryErrorKind::TooDeep(MAX_RPN_DEPTH).at(at));
        }
        let op = self.operator.take().unwrap_or(Operator::And);
        self.tree = Some((RpnStructure::combined(left, op, right), depth));
        Ok(())
    }

    /// Returns the tree and its depth, or an error if an operator has no right operand.
    fn close(self, end: usize) -> Result<(RpnStructure, usize), QueryError> {
        match (self.tree, self.operator) {
            (Some(tree), None) => Ok(tree),
            _ => Err(QueryErrorKind::Missing("a word to search for").at(end)),
        }
    }
}

struct Reader<'a> {
    names: &'a Names,
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn query(&mut self) -> Result<RpnStructure, QueryError> {
        let any = vec![AttributeElement::numeric(USE, USE_ANY)];
        let mut outer: Vec<Scope> = Vec::new();
        let mut scope = Scope::new(any, 0);
        loop {
            let rest = self.skip_blanks();
            let at = self.at;
            if rest.is_empty() {
                if !outer.is_empty() {
                    return Err(QueryErrorKind::Missing("a closing parenthesis").at(scope.offset));
                }
                return scope.close(at).map(|(tree, _)| tree);
            }
            if rest.starts_with(')') {
                let Some(parent) = outer.pop() else {
                    return Err(QueryErrorKind::Unexpected(")".to_owned()).at(at));
                };
                self.at += 1;
                let (tree, depth) = std::mem::replace(&mut scope, parent).close(at)?;
                scope.operand(tree, depth, at)?;
                continue;
            }
            if let Some((operator, length)) = operator(rest) {
                if scope.tree.is_none() || scope.operator.is_some() {
                    let word = rest.get(..length).unwrap_or_default().to_owned();
                    return Err(QueryErrorKind::Unexpected(word).at(at));
                }
                self.at += length;
                scope.operator = Some(operator);
                continue;
            }
            if rest.starts_with('-') {
                self.at += 1;
                if scope.tree.is_none() || scope.operator.is_some() {
                    return Err(QueryErrorKind::Exclusion.at(at));
                }
                let after = self.rest();
                if after.is_empty() || after.starts_with(|one: char| one.is_ascii_whitespace()) {
                    return Err(QueryErrorKind::Missing("a word to exclude").at(self.at));
                }
                scope.operator = Some(Operator::AndNot);
            }
            let named = self.name()?.or_else(|| self.compared_name());
            let is_named = named.is_some();
            let attributes = named.unwrap_or_else(|| scope.attributes.clone());
            let here = self.at;
            if (is_named || is_of_years(&attributes))
                && let Some(relation) = self.relation(&attributes)
            {
                let operand = self.comparison(attributes, relation, here)?;
                scope.operand(operand, 0, at)?;
                continue;
            }
            if self.rest().starts_with('(') {
                if outer.len() == MAX_RPN_DEPTH {
                    return Err(QueryErrorKind::TooDeep(MAX_RPN_DEPTH).at(here));
                }
                self.at += 1;
                outer.push(std::mem::replace(&mut scope, Scope::new(attributes, here)));
                continue;
            }
            let is_quoted = self.rest().starts_with('"');
            let takes_range = !is_quoted && is_of_years(&attributes);
            let term = self.term()?;
            let (operand, depth) = match years(&term).filter(|_| takes_range) {
                Some((first, last)) if !last.is_empty() && first > last => {
                    return Err(QueryErrorKind::Years(term).at(here));
                }
                Some((first, last)) => range(&attributes, (&first, &last)),
                None if takes_range && is_like_range(&term) => {
                    return Err(QueryErrorKind::NoYears(term).at(here));
                }
                None if is_quoted => (RpnStructure::term(attributes, term.into_bytes()), 0),
                None => (word(attributes, &term), 0),
            };
            scope.operand(operand, depth, at)?;
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) -> &'a str {
        let rest = self.rest().trim_ascii_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    /// Parses a name and its colon, if they come next, and returns the attributes of the name. A name consists of
    /// letters, digits, `-`, `_` and `.`, and begins with a letter.
    fn name(&mut self) -> Result<Option<Vec<AttributeElement>>, QueryError> {
        let rest = self.rest();
        let Some((name, after)) = rest.split_once(':') else {
            return Ok(None);
        };
        let is_name = name.starts_with(char::is_alphabetic) && name.chars().all(is_of_name);
        if !is_name {
            return Ok(None);
        }
        let attributes = self.names.attributes(name).map_err(|nearest| {
            let name = name.to_owned();
            QueryErrorKind::Index { name, nearest }.at(self.at)
        })?;
        self.at = self.text.len() - after.len();
        Ok(Some(attributes))
    }

    /// Parses the name of an index before `<` or `>`, if they come next, and returns the attributes of the name. Only the name of a year
    /// index may be followed by spaces, because other names may be ordinary words.
    fn compared_name(&mut self) -> Option<Vec<AttributeElement>> {
        let rest = self.rest();
        let (name, after) = rest.split_at_checked(rest.find(|one| !is_of_name(one))?)?;
        let sign = after.trim_ascii_start();
        let is_sign = sign.starts_with(['<', '>', '≤', '≥']);
        if !is_sign || !name.starts_with(char::is_alphabetic) {
            return None;
        }
        let attributes = self.names.attributes(name).ok()?;
        if sign.len() != after.len() && !is_of_years(&attributes) {
            return None;
        }
        self.at = self.text.len() - sign.len();
        Some(attributes)
    }

    /// Parses a relation symbol, if it comes next, and returns the corresponding value of the Relation attribute. An
    /// index with a structure attribute (docid) contains identifiers, so its terms are not compared.
    fn relation(&mut self, attributes: &[AttributeElement]) -> Option<i64> {
        let mut types = attributes.iter().map(|one| one.attribute_type);
        if types.any(|kind| kind == STRUCTURE) {
            return None;
        }
        let rest = self.rest();
        let mut relations = RELATIONS.iter();
        let (sign, value) = relations.find(|(sign, _)| rest.starts_with(sign))?;
        self.at += sign.len();
        Some(*value)
    }

    /// Parses the term after a relation symbol. The symbol begins at the offset `at`.
    fn comparison(
        &mut self,
        mut attributes: Vec<AttributeElement>,
        relation: i64,
        at: usize,
    ) -> Result<RpnStructure, QueryError> {
        let is_quoted = self.skip_blanks().starts_with('"');
        let term = self.term()?;
        if is_of_years(&attributes) && !is_quoted && !is_moment(&term) {
            let written = self.text.get(at..self.at).unwrap_or_default();
            return Err(QueryErrorKind::NoYears(written.to_owned()).at(at));
        }
        // "Equal" is the default relation, so it is not sent.
        if relation != RELATION_EQUAL {
            attributes.push(AttributeElement::numeric(RELATION, relation));
        }
        Ok(RpnStructure::term(attributes, term.into_bytes()))
    }

    /// Parses a phrase between quotes, or a word up to a space or parenthesis.
    fn term(&mut self) -> Result<String, QueryError> {
        let start = self.at;
        let rest = self.rest();
        let Some(body) = rest.strip_prefix('"') else {
            let end = rest
                .find(|one: char| one.is_ascii_whitespace() || matches!(one, '(' | ')'))
                .unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            if word.is_empty() {
                return Err(QueryErrorKind::Missing("a word to search for").at(start));
            }
            self.at += end;
            return Ok(word.to_owned());
        };
        let mut term = String::new();
        let mut characters = body.char_indices().peekable();
        while let Some((position, character)) = characters.next() {
            match character {
                '"' => {
                    self.at = start + position + 2;
                    return Ok(term);
                }
                '\\' if characters
                    .peek()
                    .is_some_and(|(_, next)| matches!(next, '"' | '\\')) =>
                {
                    term.extend(characters.next().map(|(_, escaped)| escaped));
                }
                other => term.push(other),
            }
        }
        Err(QueryErrorKind::UnclosedQuote.at(start))
    }
}

/// Returns whether index names can contain this character.
fn is_of_name(one: char) -> bool {
    one.is_alphanumeric() || matches!(one, '-' | '_' | '.')
}

/// The relation symbols, each with its Relation attribute value (Z39.50-2003 §ATR.1). A longer symbol comes before the
/// shorter symbol with which it begins.
const RELATIONS: [(&str, i64); 8] = [
    ("<>", 6),
    ("<=", 2),
    ("≤", 2),
    (">=", 4),
    ("≥", 4),
    ("<", 1),
    (">", 5),
    ("=", RELATION_EQUAL),
];

/// Returns the operand for a word. An asterisk at its beginning, its end or both truncates the word (Bib-1 type 5). An
/// asterisk within the word, or in a docid, is part of the term.
fn word(mut attributes: Vec<AttributeElement>, text: &str) -> RpnStructure {
    let (left, stem) = match text.strip_prefix('*') {
        Some(stem) => (true, stem),
        None => (false, text),
    };
    let (right, stem) = match stem.strip_suffix('*') {
        Some(stem) => (true, stem),
        None => (false, stem),
    };
    let truncation = match (left, right) {
        (false, true) => TRUNCATION_RIGHT,
        (true, false) => TRUNCATION_LEFT,
        (true, true) => TRUNCATION_LEFT_AND_RIGHT,
        (false, false) => return RpnStructure::term(attributes, text),
    };
    let has_structure = attributes
        .iter()
        .any(|attribute| attribute.attribute_type == STRUCTURE);
    if stem.is_empty() || stem.contains('*') || has_structure {
        return RpnStructure::term(attributes, text);
    }
    attributes.push(AttributeElement::numeric(TRUNCATION, truncation));
    RpnStructure::term(attributes, stem)
}

/// Returns the operator at the start of the text, if there is one in capitals, and its length.
fn operator(rest: &str) -> Option<(Operator, usize)> {
    [
        ("AND", Operator::And),
        ("OR", Operator::Or),
        ("NOT", Operator::AndNot),
    ]
    .into_iter()
    .find_map(|(word, operator)| {
        let after = rest.strip_prefix(word)?;
        let ends = after.is_empty()
            || after.starts_with(|one: char| one.is_ascii_whitespace() || matches!(one, '(' | ')'));
        ends.then_some((operator, word.len()))
    })
}

#[cfg(test)]
mod tests;
