//! Tests for findings about credentials in URLs and in plans.

use serde_json::json;
use z3950_tests::program::{Ran, path, run, z3950, z3950_fed};
use z3950_tests::surroundings::command;

use super::value;

/// RFC 1736 §4.5: URLs are printed with their credentials, so that they still work. A caution mentions the credentials,
/// and `--redact` removes them.
#[test]
fn audit_b4_urls_are_written_with_their_passwords() {
    let check = |arguments: &[&str], input: &str, full: &str, redacted: &str| {
        let ran = z3950_fed(arguments, input);
        assert!(
            ran.code == Some(0) && ran.stdout.contains(full),
            "{full} in {ran:?}"
        );
        assert!(
            ran.stderr.contains("password") && !ran.stderr.contains("sesame"),
            "{ran:?}"
        );
        let ran = z3950_fed(arguments.iter().chain(&["--redact"]), input);
        assert!(
            ran.code == Some(0) && ran.stdout.contains(redacted),
            "{redacted} in {ran:?}"
        );
        assert!(!format!("{ran:?}").contains("sesame"), "{ran:?}");
    };
    let url = "ftp://u:sesame@h.example/x";
    check(&["url", "canon", url], "", url, "ftp://u:***@h.example/x");
    check(
        &["url", "canon", "--json", url],
        "",
        url,
        "\"ftp://u:***@h.example/x\"",
    );
    check(
        &["url", "wrap", url],
        "",
        &format!("<URL:{url}>"),
        "<URL:ftp://u:***@h.example/x>",
    );
    check(
        &["url", "wrap", "z39.50r://u:sesame@h.example/d?x"],
        "",
        "<URL:z39.50r://u:sesame@h.example/d?x>",
        "<URL:z39.50r://h.example/d?x>",
    );
    check(
        &["url", "wrap", "x-a://u:sesame@h/%2f"],
        "",
        "x-a://u:sesame@h/%2f",
        "x-a://u:***@h/%2f",
    );
    check(
        &["url", "resolve", url, "y"],
        "",
        "ftp://u:sesame@h.example/y",
        "ftp://u:***@h.example/y",
    );
    check(
        &["url", "resolve", "--json", url, "y"],
        "",
        "ftp://u:sesame@h.example/y",
        "ftp://u:***@h.example/y",
    );
    check(&["url", "extract"], url, url, "ftp://u:***@h.example/x");
    check(
        &["url", "extract", "--json"],
        url,
        url,
        "ftp://u:***@h.example/x",
    );
    let ran = z3950([
        "url",
        "canon",
        "ftp://foo:@host.com/",
        "ftp://foo@host.com/",
        "ftp://host.com/",
    ]);
    assert_eq!(
        ran.stdout,
        "ftp://foo:@host.com/\nftp://foo@host.com/\nftp://host.com/\n"
    );
    let ran = z3950(["url", "canon", "ftp://foo@host.com/"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), ""),
        "a user name alone is not secret"
    );
    // The output of these commands is only displayed, so credentials are redacted in it.
    for arguments in [["url", "check", url], ["url", "parse", url]] {
        let ran = z3950(arguments);
        assert!(
            ran.code == Some(0) && !format!("{ran:?}").contains("sesame"),
            "{ran:?}"
        );
    }
}

/// RFC 1736 §5: `plan` shows the credentials that each server would get, before anything is sent.
#[test]
fn audit_b5_a_plan_says_whose_identity_goes_where() {
    let url = "z39.50r://lib.example:2100/cat?x";
    let line = |ran: &Ran| {
        assert!(
            ran.code == Some(0) && !format!("{ran:?}").contains("sesame"),
            "{ran:?}"
        );
        let line = ran.stdout.lines().find(|line| line.starts_with("identify"));
        line.map(|line| line.trim_start_matches("identify").trim().to_owned())
    };
    let plan = |arguments: &[&str]| {
        let mut command = command(path("z3950"));
        command
            .arg("plan")
            .args(arguments)
            .env("AUDIT_B5_PASSWORD", "sesame");
        line(&run(&mut command, ""))
    };
    let to = "to lib.example:2100";
    assert_eq!(plan(&[url]), None);
    for (options, expected) in [
        (
            &["--user", "me"][..],
            format!("as user me, {to}, given by options"),
        ),
        (
            &[
                "--user",
                "me",
                "--group",
                "staff",
                "--password-env",
                "AUDIT_B5_PASSWORD",
            ],
            format!(
                "as user me, group staff, with the password in the environment variable AUDIT_B5_PASSWORD, {to}, given by \
                 options"
            ),
        ),
        (
            &[
                "--user",
                "me",
                "--open-auth",
                "--password-command",
                "echo sesame",
            ],
            format!("as user me, with the password that a command prints, {to}, given by options"),
        ),
        (
            &["--anonymous"],
            format!("as anonymous, {to}, given by options"),
        ),
    ] {
        let arguments: Vec<&str> = [url].iter().chain(options).copied().collect();
        assert_eq!(plan(&arguments), Some(expected), "{options:?}");
    }
    let with_user = "z39.50r://me:sesame@lib.example:2100/cat?x";
    assert_eq!(plan(&[with_user]), None);
    assert_eq!(
        plan(&[with_user, "--allow-url-credentials"]),
        Some(format!(
            "as user me, with the password of the URL, {to}, given in the URL"
        ))
    );
    let directory = tempfile::tempdir().expect("a directory");
    let targets = directory.path().join("targets.toml");
    let profile = "[targets.lib]\nhost = 'lib.example'\nport = 2100\ndatabases = ['cat']\n\
                   credentials = { user = 'stored', password_env = 'AUDIT_B5_PASSWORD' }\n";
    std::fs::write(&targets, profile).expect("the file is written");
    let file = targets.to_str().expect("text");
    assert_eq!(
        plan(&[url, "--targets", file]),
        Some(format!(
            "as user stored, with the password in the environment variable AUDIT_B5_PASSWORD, {to}, given by the profile \
             lib in {file}"
        ))
    );
    let ran = run(
        command(path("z3950"))
            .args(["plan", "--json", url, "--targets", file])
            .env("AUDIT_B5_PASSWORD", "sesame"),
        "",
    );
    assert_eq!(
        value(&ran)["identity"],
        json!({
            "form": "id-pass", "user": "stored", "group": null, "password_from": "environment",
            "password_variable": "AUDIT_B5_PASSWORD", "source": "profile", "profile": "lib", "file": file,
        })
    );
    let octets = run(
        command(path("z3950"))
            .args(["plan", "--octets", url, "--targets", file])
            .env("AUDIT_B5_PASSWORD", "sesame"),
        "",
    );
    for ran in [ran, octets] {
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            !shown.contains("sesame") && !shown.contains("736573616d65"),
            "{shown}"
        );
        assert!(
            !shown
                .replace(' ', "")
                .to_lowercase()
                .contains("736573616d65"),
            "{shown}"
        );
    }
    assert_eq!(
        plan(&[url, "--targets", file, "--user", "me"]),
        Some(format!("as user me, {to}, given by options"))
    );
}
