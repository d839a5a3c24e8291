//! Follows every documentation page as a reader would: pastes all blocks from top to bottom into one shell in an empty folder.
//!
//! The output that a page shows below a command is compared with the actual output. The pages follow these rules:
//!
//! - A `console` block has commands after `$ ` and, optionally, their output. An `sh` block only has commands, none
//!   of which may fail. `# exit code 3` after a command announces an exit code other than 0. A command whose output
//!   is shown may have any exit code.
//! - `…` matches text that changes from run to run, and omitted lines.
//! - A server is started with `&` at the end of a block. The ports of `localhost` and `127.0.0.1` are replaced with free ones.
//! - A TOML block begins with the name of its file, such as `# targets.toml`, and is saved under this name.
//! - No other machines are contacted. A block that needs them, or root, is `sh,no_run` and begins with a comment that
//!   says so.
//! - Lines that begin with `z3950> ` are typed at the prompt opened by the command above them, in a terminal.
//! - If the program of a command is missing, the command and the rest of its section are skipped with a message.
//!   Commands of `cargo` other than `cargo run` are skipped too.

mod blocks;
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use blocks::{Block, Step, blocks, fits};
use shell::{Shell, say_skipped};
use z3950_tests::opensearch::Cluster;
use z3950_tests::peer;
use z3950_tests::ports::pairs_of_ports;

/// The port on which `z3950d` listens without `--listen`.
const DEFAULT_PORT: u16 = 2100;

/// The ports of a search engine that is started before its page is followed.
const ENGINE_PORTS: [u16; 3] = [9200, 9202, 9204];

/// The text before the number of a port on this machine: a host name or address, or the key in a file of targets.
const HERE: [&str; 3] = ["localhost:", "127.0.0.1:", "port = "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Replaces the ports on this machine with free ones, except the ports of running programs. Returns the text, and the port that
/// replaces the default port.
fn with_free_ports(page: &str, running: &BTreeMap<u16, u16>) -> (String, u16) {
    let mut ports = BTreeMap::from([(DEFAULT_PORT, 0)]);
    let _ = replace_ports(page, |port| {
        ports.insert(port, 0);
        port
    });
    let free = pairs_of_ports(ports.len());
    for (given, free) in ports.values_mut().zip(free) {
        *given = free;
    }
    ports.extend(running);
    let text = replace_ports(page, |port| ports[&port]);
    (text, ports[&DEFAULT_PORT])
}

fn replace_ports(page: &str, mut replaced: impl FnMut(u16) -> u16) -> String {
    let mut text = String::new();
    let mut rest = page;
    let place = |rest: &str| {
        let ends = HERE
            .iter()
            .filter_map(|name| Some(rest.find(name)? + name.len()));
        ends.min()
    };
    while let Some(end) = place(rest) {
        let (before, after) = rest.split_at(end);
        let digits = after.find(|c: char| !c.is_ascii_digit());
        let (digits, after) = after.split_at(digits.unwrap_or(after.len()));
        text.push_str(before);
        match digits.parse() {
            Ok(port @ 1024..) => text.push_str(&replaced(port).to_string()),
            _ => text.push_str(digits),
        }
        rest = after;
    }
    text + rest
}

/// Follows a page in the checkout.
fn follow(name: &str) {
    if peer::find("bash").is_none() {
        return;
    }
    let page = fs::read_to_string(root().join(name)).expect(name);
    let mut running = BTreeMap::new();
    if page.contains("engine = \"http://127.0.0.1:9200/") {
        let Some(cluster) = Cluster::shared() else {
            return;
        };
        running.extend(ENGINE_PORTS.into_iter().zip(cluster.ports()));
    }
    let (page, default_port) = with_free_ports(&page, &running);
    let mut shell = Shell::start(default_port);
    let mut is_left_out = false;
    for block in blocks(&page) {
        match block {
            Block::Heading => is_left_out = false,
            Block::Commands(steps) => {
                for step in steps {
                    is_left_out =
                        is_left_out || carry_out(&mut shell, name, &step) == Outcome::Skipped;
                }
            }
            Block::File { name, text } => shell.saves(&name, &text),
            Block::NotRun { reason } => say_skipped(&format!("{name}: {reason}")),
            Block::Sample => (),
        }
    }
}

#[derive(PartialEq)]
enum Outcome {
    Done,
    /// A program is missing.
    Skipped,
}

/// Runs a command of a page, and compares its output and exit code with the page.
fn carry_out(shell: &mut Shell, page: &str, step: &Step) -> Outcome {
    let place = format!("{page}:{}: {}", step.line, step.command);
    let fits = |printed: &str| {
        let lines: Vec<&str> = printed.lines().collect();
        step.shown.as_ref().is_none_or(|shown| fits(shown, &lines))
    };
    let printed = if step.is_server() {
        shell.serves(&step.command, fits)
    } else if step.is_prompt() {
        shell.types(&step.command, &step.typed())
    } else {
        let ended = shell.runs(&step.command);
        if ended.is_skipped {
            return Outcome::Skipped;
        }
        if let Some(code) = step.exit_code() {
            assert_eq!(ended.code, code, "{place}: {ended:?}");
        } else if step.shown.is_none() {
            assert_eq!(ended.failed, "", "{place}: {ended:?}");
        }
        ended.printed
    };
    let shown = step.shown.as_deref().unwrap_or_default().join("\n");
    assert!(
        fits(&printed),
        "{place}\nshown:\n{shown}\nprinted:\n{printed}"
    );
    Outcome::Done
}

const README: &str = "README.md";

/// The folders of the published packages, each of which has a README.
const PACKAGES: [&str; 11] = [
    "asn1",
    "asn1/files",
    "asn1/marc",
    "client",
    "client/cli",
    "client/cli/help",
    "client/python",
    "server",
    "server/cli",
    "server/front",
    "tests/judge",
];

#[test]
fn audit_d17_r_f16_the_readme_is_followed() {
    follow(README);
}

macro_rules! pages {
    ($($test:ident $page:literal)*) => {
        /// The pages that are followed.
        const PAGES: &[&str] = &[README, $($page),*];

        $(
            #[test]
            fn $test() {
                follow($page);
            }
        )*
    };
}

pages! {
    r_f16_the_page_for_contributors_is_followed "CONTRIBUTING.md"
    audit_r_l14_the_readme_of_the_codec_is_followed "asn1/README.md"
    audit_r_l14_the_readme_of_the_files_package_is_followed "asn1/files/README.md"
    audit_r_l14_the_readme_of_the_marc_package_is_followed "asn1/marc/README.md"
    audit_r_l14_the_readme_of_the_client_is_followed "client/README.md"
    audit_r_l14_the_readme_of_the_program_is_followed "client/cli/README.md"
    audit_r_l14_the_readme_of_the_help_is_followed "client/cli/help/README.md"
    audit_r_l14_the_readme_of_the_server_is_followed "server/README.md"
    audit_r_l14_the_readme_of_z3950d_is_followed "server/cli/README.md"
    audit_r_l14_the_readme_of_the_front_is_followed "server/front/README.md"
    audit_r_l14_the_readme_of_the_judge_is_followed "tests/judge/README.md"
    r_f16_the_page_on_batches_is_followed "client/docs/batches.md"
    r_f16_the_page_on_conformance_is_followed "client/docs/conformance.md"
    r_f16_the_page_on_formats_is_followed "client/docs/formats.md"
    issue_48_the_page_on_notebooks_is_followed "client/docs/notebook.md"
    issue_48_the_page_on_tests_is_followed "client/docs/tests.md"
    issue_48_the_page_on_web_services_is_followed "client/docs/web-service.md"
    r_f16_the_page_on_the_program_is_followed "client/docs/program.md"
    r_f16_the_page_on_queries_is_followed "client/docs/queries.md"
    r_f16_the_page_on_targets_is_followed "client/docs/targets.md"
    r_f16_the_page_on_urls_is_followed "client/docs/urls.md"
    r_f16_the_page_on_python_is_followed "client/python/README.md"
    r_f16_the_page_on_other_python_packages_is_followed "client/python/docs/coming-from.md"
    r_f16_the_page_on_clients_is_followed "server/docs/clients.md"
    r_f16_the_page_on_engines_is_followed "server/docs/engine.md"
    r_f16_the_page_on_the_gateway_is_followed "server/docs/gateway.md"
    issue_50_the_page_on_blacklight_is_followed "server/docs/blacklight.md"
    issue_50_the_page_on_vufind_is_followed "server/docs/vufind.md"
    issue_50_the_page_on_koha_is_followed "server/docs/koha.md"
    r_f16_the_page_on_operation_is_followed "server/docs/operation.md"
    audit_r_l10_the_page_on_own_data_is_followed "server/docs/own-data.md"
    r_f16_the_page_on_the_page_is_followed "server/docs/page.md"
    r_f16_the_page_on_remote_databases_is_followed "server/docs/remote.md"
    r_f16_the_page_on_the_server_is_followed "server/docs/server.md"
    r_f16_the_page_on_sru_is_followed "server/docs/sru.md"
    r_f16_the_page_on_transcripts_is_followed "server/docs/transcripts-and-faults.md"
}

#[test]
fn r_f16_every_page_is_followed() {
    let mut found = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    found.extend(PACKAGES.map(|folder| format!("{folder}/README.md")));
    for folder in ["client/docs", "client/python/docs", "server/docs"] {
        for entry in fs::read_dir(root().join(folder)).expect(folder).flatten() {
            let name = entry.file_name().into_string().expect("UTF-8");
            if name.ends_with(".md") {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    found.sort();
    let mut followed = PAGES.to_vec();
    followed.sort_unstable();
    assert_eq!(found, followed);
}

#[test]
fn ports_of_this_machine_are_replaced() {
    let text = replace_ports(
        "localhost:2100/a 127.0.0.1:0 lib.example:2100, http://localhost:9999",
        |port| port + 1,
    );
    assert_eq!(
        text,
        "localhost:2101/a 127.0.0.1:0 lib.example:2100, http://localhost:10000"
    );
}
