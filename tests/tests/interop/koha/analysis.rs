//! Tests of unusual results of analysis: terms of which nothing remains, and synonyms.

use serde_json::json;
use z3950_tests::koha::{Edition, KohaIndex, index as settings, made_up, shared_node};

use super::brute::shown;
use super::{changed, found, opened};

/// If nothing remains of a term after analysis, it does not find any records. In a list with other terms, it is ignored.
#[tokio::test(flavor = "multi_thread")]
async fn terms_of_which_nothing_is_left_find_nothing() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "empty", Edition::Current, &made_up(80));
    let engine = opened(&index);
    assert_eq!(index.analyze("title", &["½ ① !!"]), [""; 0]);
    let count = async |pqf: &str| found(&engine, pqf).await.map(|hits| hits.len());
    let war = count("@attr 1=4 war").await;
    assert!(war.is_ok_and(|war| war > 0));
    for access in [4, 21, 63, 1003, 1018] {
        for attributes in ["", "@attr 4=1", "@attr 4=6", "@attr 4=106"] {
            for (term, expected) in [
                ("½", Ok(0)),
                ("①", Ok(0)),
                ("!!", Err(125)),
                ("-- /", Err(125)),
            ] {
                let pqf = format!("@attr 1={access} {attributes} \"{term}\"");
                let outcome = count(&pqf).await;
                let is_refused = outcome.is_err() && expected.is_err();
                assert!(outcome == expected || is_refused, "{pqf}: {outcome:?}");
            }
        }
    }
    assert_eq!(count("@attr 1=4 @attr 4=6 \"war ½\"").await, war);
    assert_eq!(count("@and @attr 1=4 war @attr 1=4 ½").await, Ok(0));
    assert_eq!(count("@or @attr 1=4 war @attr 1=4 ½").await, war);
    assert_eq!(count("@not @attr 1=4 war @attr 1=4 ½").await, war);
}

/// Synonyms that a site defines are found in words, phrases and proximity searches. They do not change the results of truncated
/// words.
#[tokio::test(flavor = "multi_thread")]
async fn synonyms_are_found() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let plain = KohaIndex::filled(cluster, "plain", Edition::Current, &made_up(120));
    let mut body = settings(Edition::Current, 2);
    let analysis = &mut body["settings"]["index"]["analysis"];
    let synonyms = ["colour, color", "battle => war, battle"];
    analysis["filter"] = json!({ "synonyms": { "type": "synonym", "synonyms": synonyms } });
    analysis["analyzer"]["analyzer_standard"]["filter"] = json!(["icu_folding", "synonyms"]);
    let index = changed(&plain, &body);
    let engine = opened(&index);
    let count = async |pqf: &str| found(&engine, pqf).await.map(|hits| hits.len());
    let having = |accepts: &dyn Fn(&[&str]) -> bool| {
        let documents = shown(&index).filter(|document| {
            let fields = ["title", "title-no-punctuation"];
            let mut values = fields.iter().flat_map(|field| document.values(field));
            values.any(|value| {
                let words = value.split_whitespace();
                // Text without letters or digits is not a word.
                let words = words.filter(|word| word.chars().any(char::is_alphanumeric));
                accepts(&words.collect::<Vec<_>>())
            })
        });
        Ok(documents.count())
    };
    let is_colour = |word: &str| ["colour", "color"].contains(&word);
    let colour = having(&|words| words.iter().any(|word| is_colour(word)));
    let after_war = having(&|words| {
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0] == "war" && is_colour(pair[1]))
    });
    let war = having(&|words| words.contains(&"war"));
    assert!(colour.is_ok_and(|found| found > 0) && after_war.is_ok_and(|found| found > 0));
    for (pqf, expected) in [
        ("@attr 1=4 color", colour),
        ("@attr 1=4 COLOUR", colour),
        ("@attr 1=4 battle", war),
        ("@attr 1=4 @attr 4=1 \"war colour\"", after_war),
        ("@attr 1=4 @attr 4=1 \"battle color\"", after_war),
        ("@prox 0 1 1 2 k 2 @attr 1=4 war @attr 1=4 color", after_war),
        ("@attr 1=4 @attr 4=6 \"battle zzz\"", Ok(0)),
        ("@attr 1=4 @attr 4=106 \"battle zzz\"", war),
    ] {
        assert_eq!(count(pqf).await, expected, "{pqf}");
    }
}
