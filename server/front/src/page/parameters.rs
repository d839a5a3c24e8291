//! The parameters of `/search`, as sent by the form.

use z3950::Query;

use super::order::ListOrder;
use crate::choices::Ticks;

/// The parameters of a search: the query, the databases, and the part of the result to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    /// The text that was typed.
    pub(super) query: String,
    /// The databases to search; empty for all.
    pub(super) targets: Vec<String>,
    /// The only database of [`targets`](Self::targets) whose records are shown; `None` for all of them.
    pub(super) within: Option<String>,
    /// The databases to tick in the form: all or none. If this is set, the form is shown and nothing is searched.
    pub(super) ticks: Option<Ticks>,
    /// The terms that narrow the search.
    pub(super) narrowings: Vec<Narrowing>,
    /// Whether to try alternative searches if a search finds nothing or is refused.
    pub(super) has_fallback: bool,
    /// Whether only the best record for an identifier is requested.
    pub(super) has_best: bool,
    /// The order of the records; `None` for the order in which the database returns them.
    pub(super) sort: Option<ListOrder>,
    /// The position of the first record in the list, from 1.
    pub(super) start: Option<u64>,
    /// The position of the record to show on its own page, from 1.
    pub(super) at: Option<u64>,
    /// The name of the file format of a download.
    pub(super) format: Option<String>,
    /// Whether a download contains all records found, and not only those in the list.
    pub(super) has_all: bool,
    /// Whether a download may leave out records that cannot be written in its format.
    pub(super) may_be_incomplete: bool,
}

/// The maximum number of databases in one search.
pub(super) const MAX_TARGETS: usize = 64;
/// The maximum number of terms that narrow one search.
pub(super) const MAX_NARROWINGS: usize = 16;
/// The maximum number of octets in the query, and in a term.
const MAX_QUERY: usize = 8192;

impl Parameters {
    /// Parses the query string of a URL; unknown parameters are ignored.
    ///
    /// # Errors
    /// Fails if the query string is malformed; the message says why.
    pub(super) fn read(query: &str) -> Result<Self, String> {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "q" => value.trim().clone_into(&mut read.query),
                "target" if value.is_empty() => {}
                "target" => read.targets.push(value.into_owned()),
                "in" => read.within = Some(value.into_owned()).filter(|name| !name.is_empty()),
                "tick" if value == "all" => read.ticks = Some(Ticks::All),
                "tick" if value == "none" => read.ticks = Some(Ticks::None),
                "narrow" => {
                    let narrowing = Narrowing::read(&value);
                    let narrowing = narrowing.filter(|one| one.term.len() <= MAX_QUERY);
                    let words = "A search is narrowed to a term of a subject, an author or a date.";
                    read.narrowings.push(narrowing.ok_or(words)?);
                }
                "fallback" => read.has_fallback = value == "1",
                "best" => read.has_best = value == "1",
                "sort" if value.is_empty() => {}
                "sort" => {
                    let words = "A list is sorted by title, author, newest or oldest.";
                    read.sort = Some(ListOrder::named(&value).ok_or(words)?);
                }
                "start" => read.start = Some(position(&value)?),
                "at" => read.at = Some(position(&value)?),
                "format" => read.format = Some(value.into_owned()),
                "all" => read.has_all = value == "1",
                "incomplete" => read.may_be_incomplete = value == "1",
                _ => {}
            }
        }
        if read.query.len() > MAX_QUERY {
            return Err(format!("What is searched for may have {MAX_QUERY} octets."));
        }
        if read.targets.len() > MAX_TARGETS {
            return Err(format!("One search may name {MAX_TARGETS} databases."));
        }
        if read.narrowings.len() > MAX_NARROWINGS {
            return Err(format!(
                "One search may be narrowed to {MAX_NARROWINGS} terms."
            ));
        }
        Ok(read)
    }

    /// Returns the database whose records are shown; `None` if there are several.
    pub(super) fn only(&self) -> Option<&str> {
        match (&self.within, &*self.targets) {
            (Some(name), _) => Some(name),
            (None, [name]) => Some(name),
            (None, _) => None,
        }
    }

    /// Returns the path and query string of this search with only the records from `target`.
    pub(super) fn link(&self, target: &str, further: &[(&str, &str)]) -> String {
        let is_only = matches!(&*self.targets, [only] if only == target);
        let within = Some(("in", target)).filter(|_| !is_only);
        let further = further.iter().copied();
        let parameters: Vec<_> = within.into_iter().chain(further).collect();
        self.whole_link(&parameters)
    }

    /// Returns the path and query string of this search in all its databases.
    pub(super) fn whole_link(&self, further: &[(&str, &str)]) -> String {
        let start = "/search?".to_owned();
        let length = start.len();
        let mut path = form_urlencoded::Serializer::for_suffix(start, length);
        path.append_pair("q", &self.query);
        for target in &self.targets {
            path.append_pair("target", target);
        }
        for narrowing in &self.narrowings {
            path.append_pair("narrow", &narrowing.value());
        }
        let choices = [("fallback", self.has_fallback), ("best", self.has_best)];
        let chosen = choices.iter().filter(|(_, is_chosen)| *is_chosen);
        path.extend_pairs(chosen.map(|(name, _)| (name, "1")));
        path.extend_pairs(self.sort.map(|order| ("sort", order.name())));
        path.extend_pairs(further);
        path.finish()
    }

    /// Returns the path and query string for a search in all databases by another query.
    pub(super) fn link_of_query(&self, query: &str) -> String {
        let mut other = self.clone();
        query.clone_into(&mut other.query);
        other.whole_link(&[])
    }

    /// Returns the path and query string for another search, which is not narrowed, in the same databases.
    pub(super) fn new_search_link(&self, query: &str) -> String {
        let mut other = self.clone();
        other.narrowings.clear();
        other.has_fallback = false;
        other.has_best = false;
        other.link_of_query(query)
    }

    /// Returns the path and query string for the same search in another order.
    pub(super) fn sorted_link(&self, order: Option<ListOrder>) -> String {
        let mut other = self.clone();
        other.sort = order;
        match &self.within {
            Some(target) => other.link(target, &[]),
            None => other.whole_link(&[]),
        }
    }

    /// Returns the path and query string for a search in one database, narrowed by an additional term.
    pub(super) fn narrowed_link(&self, target: &str, term: &Narrowing) -> String {
        let mut narrowed = self.clone();
        narrowed.narrowings.push(term.clone());
        narrowed.link(target, &[])
    }

    /// Returns the path and query string for the search without this term. If no terms remain, the link shows the records of all
    /// databases of the search again.
    pub(super) fn widened_link(&self, term: &Narrowing) -> String {
        let mut wider = self.clone();
        wider.narrowings.retain(|other| other != term);
        match self.only() {
            Some(target) if !wider.narrowings.is_empty() => wider.link(target, &[]),
            _ => wider.whole_link(&[]),
        }
    }
}

/// A field whose terms can narrow a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NarrowingField {
    /// The name of the field in facets, and in the parameter `narrow`.
    pub(super) name: &'static str,
    /// The title of the field on the page.
    pub(super) title: &'static str,
    /// The Bib-1 Use attribute that searches for the field's terms.
    pub(super) access: i64,
}

/// All fields that can narrow a search.
pub(super) const FIELDS: [NarrowingField; 3] = [
    NarrowingField {
        name: "subject",
        title: "Subject",
        access: 21,
    },
    NarrowingField {
        name: "author",
        title: "Author",
        access: 1003,
    },
    NarrowingField {
        name: "date",
        title: "Year",
        access: 31,
    },
];

/// A term that narrows the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Narrowing {
    pub(super) field: NarrowingField,
    pub(super) term: String,
}

impl Narrowing {
    /// Parses a value of the parameter `narrow`: the name of a field, a colon, and a term.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (name, term) = text.split_once(':')?;
        let field = *FIELDS.iter().find(|field| field.name == name)?;
        let term = term.trim().to_owned();
        (!term.is_empty()).then_some(Self { field, term })
    }

    /// Returns the value of the parameter `narrow` for this term.
    pub(super) fn value(&self) -> String {
        format!("{}:{}", self.field.name, self.term)
    }

    /// Returns the query for records that have this term as a complete field (Bib-1 type 4 value 1, phrase, and type 6 value 3,
    /// complete field).
    fn query(&self) -> Query {
        let attributes = [(1, self.field.access), (4, 1), (6, 3)];
        Query::attributes(attributes, &self.term)
    }
}

/// Returns a query narrowed to these terms.
pub(super) fn narrowed(query: Query, narrowings: &[Narrowing]) -> Query {
    let narrowings = narrowings.iter().map(Narrowing::query);
    narrowings.fold(query, |query, term| query & term)
}

fn position(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "A position is a number from 1.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_within_limits() {
        let read = Parameters::read("q=+war%26peace+&target=a&target=b%2F&start=11&other=1");
        let read = read.expect("valid");
        assert_eq!(read.query, "war&peace");
        assert_eq!(read.targets, ["a", "b/"]);
        assert_eq!((read.start, read.at), (Some(11), None));
        let read =
            Parameters::read("q=a%26b&target=x&target=y&narrow=date:1868&narrow=author:+a:b");
        let read = read.expect("valid");
        let narrow = "narrow=date%3A1868&narrow=author%3Aa%3Ab";
        let link = read.link("c d", &[("at", "2")]);
        let both = "target=x&target=y";
        assert_eq!(link, format!("/search?q=a%26b&{both}&{narrow}&in=c+d&at=2"));
        let read_again = Parameters::read("q=1&fallback=1&best=1&start=2").expect("valid");
        let link = read_again.link("x", &[("at", "3")]);
        assert_eq!(link, "/search?q=1&fallback=1&best=1&in=x&at=3");
        let sorted = Parameters::read("q=1&target=x&in=y&sort=title").expect("valid");
        let link = sorted.link("y", &[("at", "3")]);
        assert_eq!(link, "/search?q=1&target=x&sort=title&in=y&at=3");
        for (order, link) in [
            (
                Some(ListOrder::Newest),
                "/search?q=1&target=x&sort=newest&in=y",
            ),
            (None, "/search?q=1&target=x&in=y"),
        ] {
            assert_eq!(sorted.sorted_link(order), link);
        }
        let link = sorted.new_search_link("au:\"b\"");
        assert_eq!(link, "/search?q=au%3A%22b%22&target=x&sort=title");
        let one = Parameters::read("q=a&target=x&target=").expect("valid");
        assert_eq!(one.link("x", &[]), "/search?q=a&target=x");
        assert_eq!(one.only(), Some("x"));
        let third = Narrowing::read("subject:war").expect("valid");
        let link = read.narrowed_link("x", &third);
        assert_eq!(
            link,
            format!("/search?q=a%26b&{both}&{narrow}&narrow=subject%3Awar&in=x")
        );
        let [date, author] = &*read.narrowings else {
            panic!("{:?}", read.narrowings)
        };
        assert_eq!((&*author.term, author.field.access), ("a:b", 1003));
        let link = read.widened_link(date);
        assert_eq!(
            link,
            "/search?q=a%26b&target=x&target=y&narrow=author%3Aa%3Ab"
        );
        for (query, is_sound) in [
            (format!("q={}", "a".repeat(MAX_QUERY)), true),
            (format!("q={}", "a".repeat(MAX_QUERY + 1)), false),
            ("target=a&".repeat(MAX_TARGETS), true),
            ("target=a&".repeat(MAX_TARGETS + 1), false),
            ("narrow=date:1&".repeat(MAX_NARROWINGS), true),
            ("narrow=date:1&".repeat(MAX_NARROWINGS + 1), false),
            (format!("narrow=date:{}", "1".repeat(MAX_QUERY)), true),
            (format!("narrow=date:{}", "1".repeat(MAX_QUERY + 1)), false),
            ("narrow=title:war".to_owned(), false),
            ("narrow=date:+".to_owned(), false),
            ("sort=title".to_owned(), true),
            ("sort=".to_owned(), true),
            ("sort=shelf".to_owned(), false),
            ("start=0".to_owned(), false),
            ("at=x".to_owned(), false),
        ] {
            assert_eq!(Parameters::read(&query).is_ok(), is_sound, "{query}");
        }
    }
}
