//! Tests of z3950d with curl as an HTTP client: methods, forms, chunked bodies, and connections that are kept open.

use std::path::Path;

use z3950_tests::peer;
use z3950_tests::program::{Daemon, run};
use z3950_tests::surroundings::command;

/// Runs curl and returns its output. With `--write-out`, the output ends with the status, the number of connections opened for
/// the last transfer, and the media type.
fn curl(program: &Path, arguments: &[&str], body: &str) -> String {
    let mut command = command(program);
    command.args(["--silent", "--max-time", "20", "--data-binary", "@-"]);
    let ran = run(command.args(arguments), body);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
    ran.stdout
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";
const SOAP: &str = "Content-Type: text/xml";
const WAR: &str = "version=1.2&operation=searchRetrieve&query=war&maximumRecords=1";

#[test]
fn curl_gets_posts_and_uploads() {
    let Some(program) = peer::find("curl") else {
        return;
    };
    let daemon = Daemon::start(["--demo"]);
    let books = format!("http://{}/books", daemon.address());
    let found = format!("{books}?{WAR}");
    let long = format!("{WAR}&x-a={}", "a".repeat(60_000));
    let envelope = "<SOAP:Envelope xmlns:SOAP=\"http://schemas.xmlsoap.org/soap/envelope/\"><SOAP:Body>\
        <searchRetrieveRequest xmlns=\"http://www.loc.gov/zing/srw/\"><version>1.1</version><query>war</query>\
        </searchRetrieveRequest></SOAP:Body></SOAP:Envelope>";
    let shows = "\n%{http_code} %{num_connects} %{content_type}";
    let hits = "<zs:numberOfRecords>17</zs:numberOfRecords>";
    let xml = "text/xml; charset=utf-8";
    for (arguments, body, expected, status) in [
        (&["--request", "GET", &found][..], "", hits, "200"),
        (&["--header", FORM, &books], WAR, hits, "200"),
        // curl waits for 100 Continue before it sends the body.
        (
            &["--header", FORM, "--header", "Expect: 100-continue", &books],
            &long,
            hits,
            "200",
        ),
        (
            &[
                "--header",
                FORM,
                "--header",
                "Transfer-Encoding: chunked",
                &books,
            ],
            WAR,
            hits,
            "200",
        ),
        (&["--header", SOAP, &books], envelope, hits, "200"),
        (
            &[
                "--header",
                SOAP,
                "--header",
                "Transfer-Encoding: chunked",
                &books,
            ],
            envelope,
            hits,
            "200",
        ),
        (&["--http1.0", "--header", FORM, &books], WAR, hits, "200"),
    ] {
        let said = curl(
            &program,
            &[&["--write-out", shows], arguments].concat(),
            body,
        );
        assert!(said.contains(expected), "{arguments:?}: {said}");
        let last = format!("\n{status} 1 {xml}");
        assert!(said.ends_with(&last), "{arguments:?}: {said}");
    }
    // Both requests use the same connection.
    let twice = ["--request", "GET", "--write-out", shows, &found, &found];
    let said = curl(&program, &twice, "");
    assert!(said.ends_with(&format!("\n200 0 {xml}")), "{said}");
    // Each of these requests changes one thing from the requests above: the method, the database or the content type.
    for (arguments, status) in [
        (&["--request", "PUT", &books][..], "405"),
        (&["--request", "OPTIONS", &books], "204"),
        (
            &[
                "--request",
                "GET",
                &format!("http://{}/none?{WAR}", daemon.address()),
            ],
            "404",
        ),
        (&["--header", "Content-Type: image/png", &books], "415"),
    ] {
        let said = curl(
            &program,
            &[&["--write-out", "\n%{http_code}"], arguments].concat(),
            "",
        );
        assert!(
            said.ends_with(&format!("\n{status}")),
            "{arguments:?}: {said}"
        );
    }
}
