//! Tests of arguments that are accepted or refused.

use super::*;

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn arguments_are_read_or_refused() {
    let check = |arguments: &str, accepted: bool| {
        let words =
            std::iter::once("z3950d").chain(arguments.split(' ').filter(|word| !word.is_empty()));
        let words = words.map(|word| word.replace('_', " "));
        let parsed = Arguments::try_parse_from(words).and_then(Arguments::checked);
        assert_eq!(parsed.is_ok(), accepted, "{arguments}: {parsed:?}");
        if let Err(error) = parsed {
            assert_eq!(error.exit_code(), 2);
        }
    };
    check("--demo", true);
    check(
        "--demo --listen 127.0.0.1:0 --listen [::1]:0 --drain 0 -vv --color never",
        true,
    );
    check(
        "--database a=b.mrc --database c=d=e.mrk --docid 035$a",
        true,
    );
    check("", false);
    check("--check", false);
    check("--config z3950d.toml --check", true);
    check("--demo --database a=b.mrc", true);
    check("cat.mrc a/maps.mrk --docid 035$a", true);
    check("cat.mrc --database a=b.mrc --save cat=saved.mrc", true);
    check("a/cat.mrc b/cat.mrc", false);
    check("cat.mrc --database cat=b.mrc", false);
    check("nonsense", false);
    check("-", false);
    check("--imitate yaz-ztest cat.mrc", false);
    check("--fold a.mrc cat.mrc", false);
    check("hash-password", true);
    check("hash-password secret", false);
    check("cat.mrc hash-password", false);
    check("--demo hash-password", false);
    check("--database a", false);
    check("--database =b", false);
    check("--database a=", false);
    check("--database a=b --docid 035", false);
    check("--database a=b --save a=c.mrc", true);
    check("--demo --drain -1", false);
    check("--demo --drain 1e400", false);
    check("--demo --idle-timeout soon", false);
    check("--demo --listen unix:/tmp/z3950d", true);
    check("--demo --listen tls:127.0.0.1:0", false);
    check(
        "--demo --listen tls:127.0.0.1:0 --certificate c.pem --key k.pem",
        true,
    );
    check(
        "--demo --listen tls:unix:/tmp/z3950d --certificate c.pem --key k.pem",
        false,
    );
    check("--demo --listen 2100", false);
    check("--demo --status 127.0.0.1:0", true);
    check("--demo --status tls:127.0.0.1:0", false);
    check("--demo --access-log a --access-log-format json", true);
    check("--demo --access-log-format json", false);
    check("--config z3950d.toml --access-log-format json", true);
    check("--demo --certificate c.pem", false);
    // audit_d1: a certificate without a TLS listener is refused, because everything would be served in plain text.
    check("--demo --certificate c.pem --key k.pem", false);
    check(
        "--demo --listen 127.0.0.1:0 --certificate c.pem --key k.pem",
        false,
    );
    check(
        "--config z3950d.toml --certificate c.pem --key k.pem",
        false,
    );
    check(
        "--demo --listen 127.0.0.1:0 --listen tls:127.0.0.1:0 --certificate c.pem --key k.pem",
        true,
    );
    check("--demo --require-client-certificate", false);
    check("--demo --fault on_search_db=books_nth=2:_delay_500ms", true);
    check("--demo --fault on_search:_dely_500ms", false);
    check("--fault help", true);
    check("--imitate yaz-ztest", true);
    check("--imitate aleph", false);
    check("--imitate yaz-ztest --demo", false);
    check("--imitate yaz-ztest --database a=b.mrc", false);
    check("--replay said.jsonl --demo", false);
    check("--replay said.jsonl --save a=b.mrc", false);
    check("--replay said.jsonl --config z3950d.toml", true);
    check("--demo --profile zebra", true);
    check("--demo --profile aleph", false);
    check("--replay said.jsonl", true);
    check("--print-config", true);
    check("--print-map koha", true);
    check("--print-map", false);
    check("try-catalogue http://127.0.0.1:9200/biblios", true);
    check("try-catalogue https://a:1/solr/biblio --ca ca.pem", true);
    check("try-catalogue 127.0.0.1:9200", false);
    check("try-catalogue", false);
    check("--man", true);
    check("--completions zsh", true);
    check("--completions tcsh", false);
    check("--demo --max-sessions 0", false);
    check("--demo --max-sessions 1", true);
    check("--demo --max-sessions-per-address 0", false);
    check("--demo --max-sessions-per-address 1", true);
    check("--fold a.mrc", true);
    check("--fold a.mrc --demo", false);
    check("--fold a.mrc --save a=a.mrc", false);
    check("--fold a.mrc --config z3950d.toml", false);
}
