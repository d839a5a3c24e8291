//! Tests of `z3950 get --gateway`: retrieval through an HTTP server.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use z3950_marc::iso2709;
use z3950_server::testing::{TestServer, record};
use z3950_tests::peer::find;
use z3950_tests::program::{Daemon, Ran, path, run, z3950};
use z3950_tests::surroundings::command;

/// Starts a gateway whose answer depends on the docid in the URL, and returns its address.
fn gateway() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
    let mut stream = stream;
    while let Some(Ok(line)) = lines.next() {
        let docid = line.split_once("%3F").map_or("", |(_, rest)| rest);
        let docid = docid.split(['%', ' ']).next().unwrap_or_default();
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let (status, media_type, body) = answer(docid);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body));
        if sent.is_err() {
            return;
        }
    }
}

fn answer(docid: &str) -> (&'static str, &'static str, Vec<u8>) {
    let problem = |status, body: &str| (status, "application/problem+json", body.into());
    match docid {
        "none" => problem("404 Not Found", r#"{"outcome":"no match"}"#),
        "two" => problem("300 Multiple Choices", r#"{"hits":2}"#),
        "closed" => problem(
            "403 Forbidden",
            r#"{"detail":"lib.example is not a target here"}"#,
        ),
        "refused" => problem(
            "502 Bad Gateway",
            r#"{"outcome":"search refused","diagnostic":{"set":"1.2.840.10003.4.1","code":235,"addinfo":"books"}}"#,
        ),
        "silent" => problem("504 Gateway Timeout", r#"{"detail":"cannot connect"}"#),
        "busy" => problem("429 Too Many Requests", ""),
        id => (
            "200 OK",
            "application/marc",
            iso2709::encode(&record(id, "By the gateway")).expect("it fits"),
        ),
    }
}

/// Runs `get` with the gateway for these docids.
fn get(docids: &[&str], flags: &[&str]) -> Ran {
    let gateway = format!("http://{}", gateway());
    let urls = docids
        .iter()
        .map(|docid| format!("z39.50r://lib.example/books?{docid};rs=marc"));
    let urls: Vec<String> = urls.collect();
    let mut arguments = vec!["get", "--gateway", &gateway];
    arguments.extend(urls.iter().map(String::as_str));
    arguments.extend(flags);
    z3950(arguments)
}

#[test]
fn outcomes_are_those_of_a_direct_retrieval() {
    let ran = get(&["id7"], &["--format", "brief"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.contains("By the gateway"), "{ran:?}");
    for (docid, code, words) in [
        ("none", 3, "no record matches"),
        ("two", 4, "2 records match"),
        ("closed", 5, "lib.example is not a target here"),
        ("refused", 5, "diagnostic 235"),
        ("silent", 6, "no answer from the server: cannot connect"),
        ("busy", 6, "429 Too Many Requests"),
    ] {
        let ran = get(&[docid], &[]);
        assert_eq!(ran.code, Some(code), "{docid}: {ran:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(words),
            "{docid}: {ran:?}"
        );
        assert!(
            ran.stderr
                .contains(", through the gateway http://127.0.0.1:"),
            "{docid}: {ran:?}"
        );
    }
}

#[test]
fn batches_go_through_the_gateway() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("found.xml");
    let report = folder.path().join("report.tsv");
    let (output, report) = (output.to_str(), report.to_str());
    let (output, report) = (output.expect("text"), report.expect("text"));
    let flags = ["--jobs", "2", "--output", output, "--report", report];
    let ran = get(&["id1", "none", "id2"], &flags);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let read = |path: &str| std::fs::read_to_string(path).expect("a file");
    assert_eq!(read(output).matches("By the gateway").count(), 2);
    let report = read(report);
    let outcomes: Vec<bool> = report
        .lines()
        .skip(1)
        .map(|line| line.contains("delivered"))
        .collect();
    assert_eq!(outcomes, [true, false, true], "{report}");
}

#[test]
fn the_environment_names_a_gateway_and_an_option_replaces_it() {
    let address = gateway();
    let run = |flags: &[&str]| {
        let mut command = command(path("z3950"));
        command
            .env("Z3950_GATEWAY", format!("http://ann:secret@{address}/"))
            .args(["get", "z39.50r://127.0.0.1:1/books?none"])
            .args(flags);
        run(&mut command, "")
    };
    let ran = run(&[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!ran.stderr.contains("secret"), "{ran:?}");
    let ran = run(&["--gateway", "none"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    // The built-in catalogue answers, regardless of the environment variables.
    let ran = run(&["--demo", "--allow-reserved-port"]);
    assert!(ran.stderr.contains("--demo"), "{ran:?}");
}

#[test]
fn urls_that_a_gateway_cannot_follow_are_refused() {
    for (flags, words) in [
        (&["--fallback=all"][..], "--fallback cannot be used"),
        (&["--user", "ann"], "credentials cannot be used"),
        (
            &["--allow-url-credentials"],
            "--allow-url-credentials cannot",
        ),
    ] {
        let ran = get(&[], &[&["z39.50r://lib.example/books?id7"], flags].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    for (gateway, words) in [
        ("gw.example", "begins with http:// or https://"),
        ("http://gw.example/?a", "write http://gw.example/"),
    ] {
        let ran = z3950(["get", "--gateway", gateway, "z39.50r://lib.example/b?c"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

/// Starts `z3950d` with these lines in the settings table `[gateway]`.
fn daemon(settings: &str) -> (Daemon, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("z3950d.toml");
    let text = format!("listen = [\"127.0.0.1:0\"]\ndemo = true\n[gateway]\n{settings}\n");
    std::fs::write(&file, text).expect("written");
    let daemon = Daemon::start(["--config", file.to_str().expect("text")]);
    (daemon, folder)
}

#[test]
fn gopher_items_come_by_the_gateway() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let gopher = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let mut selector = String::new();
            if stream.read_line(&mut selector).is_err() {
                continue;
            }
            let reply = match &*selector {
                "/menu\r\n" => "0About\t/about\tlib.example\t70\r\n.\r\n",
                "/find\tx y\r\n" => "0Found\t/x\tlib.example\t70\r\n.\r\n",
                "/about\r\n" => "All about it\r\n.\r\n",
                "/busy\t\t+\r\n" => "--1\r\n2 me\r\nCome back\r\n.\r\n",
                "/form\t\t!+ASK\r\n" => {
                    "+-2\r\n+INFO: 0Form\t/form\tlib.example\t70\t?\r\n+ASK:\r\n Ask: Name\r\n"
                }
                "/form\t+\t1\r\n" => "+3\r\nfed",
                _ => "3gone\t\terror.host\t1\r\n.\r\n",
            };
            // An error means that the gateway has ended.
            let _ = stream.get_mut().write_all(reply.as_bytes());
        }
    });
    let (first, _folder) = daemon(&format!("targets = [\"{gopher}\"]"));
    let gateway = format!("http://{}", first.address());
    let get =
        |url: &str, flags: &[&str]| z3950(["get", "--gateway", &gateway, url].iter().chain(flags));
    for (path, flags, code, shown) in [
        ("0/about", &[][..], 0, "All about it\r\n"),
        ("1/menu", &[], 0, "0 About  gopher://lib.example/0/about\n"),
        (
            "7/find",
            &["--query", "x y"],
            0,
            "0 Found  gopher://lib.example/0/x\n",
        ),
        ("7/find", &[], 2, ""),
        ("0/busy%09%09+", &[], 6, ""),
        ("0/form%09%09?", &["--answer", "me"], 0, "fed"),
        (
            "0/form%09%09?",
            &["--answer", "me", "--answer", "you"],
            2,
            "",
        ),
        ("0/form%09%09?", &[], 2, ""),
        ("0/none", &[], 3, ""),
        ("0/about", &["--format", "raw"], 0, "All about it\r\n.\r\n"),
    ] {
        let ran = get(&format!("gopher://{gopher}/{path}"), flags);
        assert_eq!(ran.code, Some(code), "{path}: {ran:?}");
        assert_eq!(ran.stdout, shown, "{path}: {ran:?}");
    }
    let ran = get("gopher://127.0.0.1:1/0/a", &[]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("is not a target of this gateway"),
        "{ran:?}"
    );
}

#[test]
fn z3950d_is_a_gateway_for_its_own_databases_and_configured_ones() {
    let other = TestServer::builder()
        .database("cat", [record("id9", "Persuasion")])
        .start();
    let (first, _folder) = daemon(&format!("targets = [\"{}\"]", other.addr()));
    let gateway = format!("http://{}", first.address());
    let own = format!("z39.50r://{}/books?pg1342;rs=marc", first.address());
    let get =
        |url: &str, flags: &[&str]| z3950(["get", "--gateway", &gateway, url].iter().chain(flags));
    let (direct, by_gateway) = (
        z3950(["get", "--format", "raw", &own]),
        get(&own, &["--format", "raw"]),
    );
    assert_eq!(
        (by_gateway.code, direct.code),
        (Some(0), Some(0)),
        "{by_gateway:?}"
    );
    assert_eq!(by_gateway.octets, direct.octets);
    let ran = get(&other.url("cat?id9"), &[]);
    assert!(ran.stdout.contains("Persuasion"), "{ran:?}");
    for (rest, code, words) in [
        ("books?nosuch", 3, "no record matches"),
        ("books?twice", 4, "2 records match"),
        ("nosuch?x", 5, "diagnostic 235"),
    ] {
        let ran = get(&format!("z39.50r://{}/{rest}", first.address()), &[]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    let ran = get("z39.50r://lib.example/cat?id9", &[]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let words = "lib.example:210 is not a target of this gateway";
    assert!(ran.stderr.contains(words), "{ran:?}");
}

#[test]
fn curl_sends_a_url_as_the_request_target() {
    let (first, _folder) = daemon("");
    let address = first.address();
    let Some(curl) = find("curl") else {
        return;
    };
    let ask = |target: &str| {
        let mut command = command(&curl);
        command.args([
            "--silent",
            "--max-time",
            "20",
            "--write-out",
            "%{http_code}",
        ]);
        command.args(["--request-target", target, &format!("http://{address}/")]);
        run(&mut command, "").stdout
    };
    let found = ask(&format!("z39.50r://{address}/books?pg1342;rs=marc"));
    assert!(
        found.contains("Pride and prejudice") && found.ends_with("200"),
        "{found}"
    );
    assert!(ask("z39.50r://lib.example/books?pg1342").ends_with("403"));
}

#[test]
fn a_reload_opens_and_closes_the_gateway() {
    let other = TestServer::builder()
        .database("cat", [record("id9", "Persuasion")])
        .start();
    let (daemon, folder) = daemon("");
    let gateway = format!("http://{}", daemon.address());
    let url = other.url("cat?id9");
    let get = || z3950(["get", "--gateway", &gateway, &url]).code;
    assert_eq!(get(), Some(5));
    let file = folder.path().join("z3950d.toml");
    let text = std::fs::read_to_string(&file).expect("read")
        + &format!("targets = [\"{}\"]", other.addr());
    std::fs::write(&file, text).expect("written");
    daemon.signal("HUP");
    let reloaded = (0..100).any(|_| {
        let is_open = get() == Some(0);
        is_open || {
            z3950_tests::pause();
            false
        }
    });
    assert!(reloaded, "the reload took place");
}

#[test]
fn names_of_profiles_are_targets() {
    let other = TestServer::builder()
        .database("cat", [record("id9", "Persuasion")])
        .start();
    let (daemon, folder) = daemon("targets = [\"town\"]");
    let url = other.url("cat?id9");
    let get = |daemon: &Daemon| {
        let gateway = format!("http://{}", daemon.address());
        z3950(["get", "--gateway", &gateway, &url]).code
    };
    assert_eq!(get(&daemon), Some(5));
    let (host, port) = (other.addr().ip(), other.addr().port());
    let profiles = format!("[targets.town]\nhost = \"{host}\"\nport = {port}\n");
    std::fs::write(folder.path().join("targets.toml"), profiles).expect("written");
    let file = folder.path().join("z3950d.toml");
    let text = std::fs::read_to_string(&file).expect("read");
    let text = format!("target-profiles = \"targets.toml\"\n{text}");
    std::fs::write(&file, text).expect("written");
    let again = Daemon::start(["--config", file.to_str().expect("text")]);
    assert_eq!(get(&again), Some(0));
}
