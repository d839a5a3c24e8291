//! The searches for a publication, the most promising first: by title and author, then by title. The year is added to a
//! search only if more records match than are compared, because catalogues often record the year of another printing.

use z3950_asn1::bib1::attributes::{USE, USE_ANY, USE_AUTHOR, USE_DATE_OF_PUBLICATION, USE_TITLE};

use super::Publication;
use crate::lookup::attempts::{Attempt, Precondition, SearchPart};

const TITLE: &[(i64, i64)] = &[(USE, USE_TITLE)];
const AUTHOR: &[(i64, i64)] = &[(USE, USE_AUTHOR)];
const YEAR: &[(i64, i64)] = &[(USE, USE_DATE_OF_PUBLICATION)];
const ANY: &[(i64, i64)] = &[(USE, USE_ANY)];

/// Returns the searches for a publication. Titles in other scripts are searched for after the first title.
pub(crate) fn searches(publication: &Publication) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let author = publication.authors.term();
    for title in &publication.titles {
        let terms = title.terms.iter();
        let by_title: Vec<SearchPart> = terms.map(|term| SearchPart::new(TITLE, &[term])).collect();
        if let Some(author) = author {
            let by_author = [SearchPart::new(AUTHOR, &[author])];
            add(
                publication,
                &[by_title.as_slice(), &by_author].concat(),
                &mut attempts,
            );
        }
        add(publication, &by_title, &mut attempts);
    }
    attempts
}

/// Returns the additional searches that are allowed as a fallback. They search for the words of the title and the
/// author in any index.
pub(crate) fn broader_searches(publication: &Publication) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let author = publication.authors.term();
    for title in &publication.titles {
        let parts: Vec<SearchPart> = title
            .terms
            .iter()
            .map(String::as_str)
            .chain(author)
            .map(|term| SearchPart::new(ANY, &[term]))
            .collect();
        add(publication, &parts, &mut attempts);
    }
    attempts
}

/// Adds a search for records that match all parts, and a narrower search that includes the year, in case the first has
/// too many hits.
fn add(publication: &Publication, parts: &[SearchPart], attempts: &mut Vec<Attempt>) {
    attempts.push(Attempt::all_of(parts, Precondition::None));
    if let Some(year) = publication.year {
        let years = [year, year.saturating_sub(1), year.saturating_add(1)];
        let years = years.map(|year| year.to_string());
        let by_year = SearchPart::new(YEAR, &years.each_ref().map(String::as_str));
        let parts = [parts, &[by_year]].concat();
        attempts.push(Attempt::all_of(&parts, Precondition::TooMany));
    }
}

#[cfg(test)]
mod tests {
    use z3950_marc::mrk;

    use super::*;

    #[test]
    fn r_b9_searches_are_for_title_and_author_then_title() {
        for (lines, expected) in [
            (
                "=100  1\\$aAusten, Jane\n=245  14$aThe Watsons :$ba fragment /$cby her.\n=260  \\\\$c1871.",
                &[
                    "title and author: @and @attr 1=4 Watsons @attr 1=1003 Austen",
                    "| title and author and date of publication: @and @and @attr 1=4 Watsons @attr 1=1003 Austen \
                     @or @or @attr 1=31 1871 @attr 1=31 1870 @attr 1=31 1872",
                    "title: @attr 1=4 Watsons",
                    "| title and date of publication: @and @attr 1=4 Watsons @or @or @attr 1=31 1871 @attr 1=31 1870 @attr 1=31 1872",
                    "any index: @and @attr 1=1016 Watsons @attr 1=1016 Austen",
                    "| any index and date of publication: @and @and @attr 1=1016 Watsons @attr 1=1016 Austen \
                     @or @or @attr 1=31 1871 @attr 1=31 1870 @attr 1=31 1872",
                ][..],
            ),
            (
                "=245  10$aWar & peace",
                &[
                    "title: @and @attr 1=4 War @attr 1=4 peace",
                    "any index: @and @attr 1=1016 War @attr 1=1016 peace",
                ],
            ),
            (
                "=245  00$6880-01$aHong lou meng\n=880  00$6245-01/$1$a紅樓夢",
                &[
                    "title: @attr 1=4 \"Hong lou meng\"",
                    "title: @attr 1=4 紅樓夢",
                    "any index: @attr 1=1016 \"Hong lou meng\"",
                    "any index: @attr 1=1016 紅樓夢",
                ],
            ),
        ] {
            let text = format!("=LDR  00000nam a2200000 a 4500\n{lines}\n");
            let record = mrk::parse_all(&text).expect("a record").remove(0);
            let publication = Publication::of(&record).expect("a title");
            let attempts = searches(&publication)
                .into_iter()
                .chain(broader_searches(&publication));
            let found: Vec<String> = attempts
                .map(|attempt| {
                    let mark = match attempt.precondition {
                        Precondition::None => "",
                        _ => "| ",
                    };
                    format!("{mark}{}: {}", attempt.name(), attempt.query)
                })
                .collect();
            assert_eq!(found, expected, "{lines}");
        }
    }
}
