//! Searches without an index, by comparing the words of each value one by one. The words come from the engine's own analysis. The
//! engine must find the same records.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use z3950_tests::solr::{SolrNodes, SolrShape};

/// A word of a value or of a query, at its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) position: i64,
}

/// The words of one value.
pub(super) type Words = Vec<Token>;

/// The documents of a collection.
pub(super) struct Naive<'n> {
    nodes: &'n SolrNodes,
    collection: String,
    shape: SolrShape,
    documents: Vec<NaiveDocument>,
    /// The words into which the engine's analysis divides queries, by field and text.
    asked: RefCell<HashMap<(String, String), Words>>,
}

struct NaiveDocument {
    id: String,
    /// The values of each field, unchanged.
    values: HashMap<String, Vec<String>>,
    /// The words of the same values.
    words: HashMap<String, Vec<Words>>,
}

/// Fields that the schemas fill with copies of other fields.
const COPIES: [(&str, &str); 16] = [
    ("allfields", "allfields_unstemmed"),
    ("title_full", "title_full_unstemmed"),
    ("title_full", "title_fullStr"),
    ("title_full", "title_whole"),
    ("title_full", "title_synonyms"),
    ("author", "author_facet"),
    ("author2", "author_facet"),
    ("author_corporate", "author_facet"),
    ("author", "author_browse"),
    ("author2", "author_browse"),
    ("author_corporate", "author_browse"),
    ("publisher", "publisherStr"),
    ("topic", "topic_unstemmed"),
    ("topic", "topic_browse"),
    ("callnumber-raw", "callnumber-search"),
    ("dewey-raw", "dewey-search"),
];

/// Fields that no query searches.
const LEFT_OUT: [&str; 2] = ["fullrecord", "marc_ss"];

impl<'n> Naive<'n> {
    /// Requests the analysis of the documents.
    pub(super) fn new(
        nodes: &'n SolrNodes,
        shape: SolrShape,
        collection: &str,
        documents: &[Value],
    ) -> Self {
        let mut naive = Self {
            nodes,
            collection: collection.to_owned(),
            shape,
            documents: Vec::new(),
            asked: RefCell::default(),
        };
        for some in documents.chunks(50) {
            let values: Vec<_> = some.iter().map(values_of).collect();
            let analysed = naive.analysed(&values);
            naive.documents.extend(values.into_iter().map(|values| {
                let id = values["id"][0].clone();
                let of_field = |field: &String, texts: &Vec<String>| {
                    let texts = texts.iter();
                    let words = texts.map(|text| words_of(&analysed[&id][field]["index"][text]));
                    (field.clone(), words.collect())
                };
                let words = values.iter().map(|(field, texts)| of_field(field, texts));
                let words = words.collect();
                NaiveDocument { id, values, words }
            }));
        }
        naive
    }

    /// Requests the words of documents from the engine. Returns the engine's answer, in which the words are grouped by
    /// identifier.
    fn analysed(&self, documents: &[HashMap<String, Vec<String>>]) -> Value {
        let mut xml = "<docs>".to_owned();
        for document in documents {
            xml.push_str("<doc>");
            for (field, texts) in document {
                for text in texts {
                    let text = text.replace('&', "&amp;").replace('<', "&lt;");
                    xml.push_str(&format!("<field name=\"{field}\">{text}</field>"));
                }
            }
            xml.push_str("</doc>");
        }
        xml.push_str("</docs>");
        let path = format!("/solr/{}/analysis/document?wt=json", self.collection);
        let (status, mut answer) = self.nodes.ask_of_type("text/xml", "POST", &path, &xml);
        assert_eq!(status, 200, "{answer}");
        answer["analysis"].take()
    }

    /// Returns the words into which the analysis of a field divides a query.
    pub(super) fn query_words(&self, field: &str, text: &str) -> Words {
        let key = (field.to_owned(), text.to_owned());
        if let Some(known) = self.asked.borrow().get(&key) {
            return known.clone();
        }
        let path = format!("/solr/{}/analysis/field", self.collection);
        let octets = text.bytes().map(|octet| format!("%{octet:02X}"));
        let encoded = octets.collect::<String>();
        let form = format!(
            "wt=json&expandMacros=false&analysis.fieldname={field}&analysis.query={encoded}"
        );
        let content_type = "application/x-www-form-urlencoded";
        let (status, answer) = self.nodes.ask_of_type(content_type, "POST", &path, &form);
        assert_eq!(status, 200, "{answer}");
        let words = words_of(&answer["analysis"]["field_names"][field]["query"]);
        self.asked.borrow_mut().insert(key, words.clone());
        words
    }

    /// Returns the identifiers of the documents that meet a condition.
    fn having(&self, condition: impl Fn(&NaiveDocument) -> bool) -> BTreeSet<String> {
        let found = self.documents.iter().filter(|one| condition(one));
        found.map(|one| one.id.clone()).collect()
    }

    /// Returns all identifiers.
    pub(super) fn all(&self) -> BTreeSet<String> {
        self.having(|_| true)
    }

    /// Returns the documents with a value in one of the fields.
    pub(super) fn filled(&self, fields: &[&str]) -> BTreeSet<String> {
        self.having(|one| fields.iter().any(|field| one.values.contains_key(*field)))
    }

    /// Returns the documents with a phrase in one of the fields.
    pub(super) fn phrase(&self, fields: &[&str], text: &str) -> BTreeSet<String> {
        let asked = fields
            .iter()
            .map(|field| (*field, self.query_words(field, text)));
        let asked: Vec<_> = asked.filter(|(_, words)| !words.is_empty()).collect();
        self.having(|one| {
            asked.iter().any(|(field, phrase)| {
                let values = self.runs(one, field);
                values.iter().any(|words| is_phrase(words, phrase))
            })
        })
    }

    /// Returns the documents that contain all of these words, or any of them, each in one of the fields. A word is ignored if the
    /// analysis of every field removes it.
    pub(super) fn words(&self, fields: &[&str], text: &str, all: bool) -> BTreeSet<String> {
        let is_word = |word: &&str| {
            let mut fields = fields.iter();
            fields.any(|field| !self.query_words(field, word).is_empty())
        };
        let words = text.split_whitespace().filter(is_word);
        let found = words.map(|word| self.phrase(fields, word));
        let joined = found.reduce(|one, other| if all { &one & &other } else { &one | &other });
        joined.unwrap_or_default()
    }

    /// Returns the documents in which two words are at most this far apart in one of the fields. If `ordered` is true, the words
    /// must be in this order.
    pub(super) fn near(
        &self,
        fields: &[&str],
        (one, other): (&str, &str),
        most: i64,
        ordered: bool,
    ) -> BTreeSet<String> {
        let words = |field: &str, text| {
            let words = self.query_words(field, text);
            words.first().map(|token| token.text.clone())
        };
        let asked = fields
            .iter()
            .map(|field| (*field, words(field, one), words(field, other)));
        let asked: Vec<_> = asked.collect();
        self.having(|document| {
            asked.iter().any(|(field, one, other)| {
                let values = self.runs(document, field);
                values
                    .iter()
                    .any(|words| is_near(words, (one, other), most, ordered))
            })
        })
    }

    /// Returns the documents with a matching word in one of the fields.
    pub(super) fn word(&self, fields: &[&str], fits: impl Fn(&str) -> bool) -> BTreeSet<String> {
        self.having(|one| {
            let values = fields.iter().filter_map(|field| one.words.get(*field));
            values.flatten().flatten().any(|token| fits(&token.text))
        })
    }

    /// Returns the documents with a matching value in one of the fields.
    pub(super) fn value(&self, fields: &[&str], fits: impl Fn(&str) -> bool) -> BTreeSet<String> {
        self.having(|one| {
            let values = fields.iter().filter_map(|field| one.values.get(*field));
            values.flatten().any(|value| fits(value))
        })
    }

    /// Returns the terms of a field in the order of their UTF-8 octets, each with the number of documents that contain it.
    pub(super) fn terms(&self, field: &str) -> BTreeMap<String, usize> {
        self.terms_of(field, &self.all())
    }

    /// Returns the terms of a field, each with the number of the given documents that contain it.
    pub(super) fn terms_of(&self, field: &str, ids: &BTreeSet<String>) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for document in self.documents.iter().filter(|one| ids.contains(&one.id)) {
            let words = document.words.get(field).into_iter().flatten().flatten();
            let terms: BTreeSet<_> = words.map(|token| &token.text).collect();
            for term in terms {
                *counts.entry(term.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Returns the smallest value of a field in each document that has the field.
    pub(super) fn least(&self, field: &str) -> HashMap<String, String> {
        let documents = self.documents.iter();
        let found = documents.filter_map(|one| {
            let least = one.values.get(field)?.iter().min()?;
            Some((one.id.clone(), least.clone()))
        });
        found.collect()
    }

    /// Returns the words of a field, divided into runs that a phrase cannot cross: one run for each value, or one run for all
    /// values if the schema does not have gaps between them.
    fn runs(&self, document: &NaiveDocument, field: &str) -> Vec<Words> {
        let values = document.words.get(field).cloned().unwrap_or_default();
        if self.shape == SolrShape::VuFind {
            return values;
        }
        let mut run = Words::new();
        let mut behind = 0;
        for words in values {
            let last = words.last().map_or(0, |token| token.position);
            run.extend(words.into_iter().map(|token| Token {
                position: token.position + behind,
                ..token
            }));
            behind += last;
        }
        vec![run]
    }
}

/// Returns the values of all fields, including those that the schema fills.
fn values_of(document: &Value) -> HashMap<String, Vec<String>> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut values: HashMap<String, Vec<String>> = HashMap::new();
    for (field, value) in document.as_object().expect("a document") {
        if LEFT_OUT.contains(&&**field) {
            continue;
        }
        let texts = match value {
            Value::Array(values) => values.iter().map(text).collect(),
            value => vec![text(value)],
        };
        for (_, copy) in COPIES.iter().filter(|(from, _)| from == field) {
            values
                .entry((*copy).to_owned())
                .or_default()
                .extend(texts.clone());
        }
        values.entry(field.clone()).or_default().extend(texts);
    }
    values
}

/// Returns the words that result from the last step of an analysis.
fn words_of(steps: &Value) -> Words {
    let last = steps.as_array().and_then(|steps| steps.last());
    let tokens = last.and_then(Value::as_array).into_iter().flatten();
    tokens
        .map(|token| Token {
            text: token["text"].as_str().expect("a text").to_owned(),
            position: token["position"].as_i64().expect("a position"),
        })
        .collect()
}

/// Returns whether a value contains the words of a phrase at the same distances from each other.
fn is_phrase(words: &[Token], phrase: &[Token]) -> bool {
    let first = &phrase[0];
    let begins = words.iter().filter(|token| token.text == first.text);
    begins.into_iter().any(|begin| {
        phrase.iter().all(|wanted| {
            let position = begin.position + wanted.position - first.position;
            words
                .iter()
                .any(|token| token.position == position && token.text == wanted.text)
        })
    })
}

fn is_near(
    words: &[Token],
    (one, other): (&Option<String>, &Option<String>),
    most: i64,
    ordered: bool,
) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let at = |text: &String| {
        let found = words.iter().filter(|token| token.text == *text);
        found.map(|token| token.position).collect::<Vec<_>>()
    };
    let (left, right) = (at(one), at(other));
    left.iter().any(|left| {
        right.iter().any(|right| {
            let distance = right - left;
            (1..=most).contains(&if ordered { distance } else { distance.abs() })
        })
    })
}
