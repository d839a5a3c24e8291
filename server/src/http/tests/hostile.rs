//! Tests of requests that well-behaved clients do not send (RFC 9112 §11).

use super::*;

#[tokio::test(start_paused = true)]
async fn ambiguous_lengths_are_refused() {
    let head = format!("POST /cat HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\n");
    let chunked = "Transfer-Encoding: chunked\r\n";
    let chunks = format!("{:x}\r\n{WAR}\r\n0\r\n\r\n", WAR.len());
    let smuggled = get("/cat");
    for fields in [
        format!("Content-Length: 5\r\n{chunked}"),
        format!("{chunked}Content-Length: 5\r\n"),
        format!("{chunked}CONTENT-LENGTH : 5\r\n"),
        "Content-Length: 5\r\nContent-Length: 6\r\n".to_owned(),
        "Content-Length: -5\r\n".to_owned(),
        "Content-Length: 5, 5\r\n".to_owned(),
        "Transfer-Encoding: gzip\r\n".to_owned(),
        format!("{chunked}Transfer-Encoding: identity\r\n"),
    ] {
        let mut caller = Caller::new(Limits::default());
        caller
            .send(format!("{head}{fields}\r\n{chunks}{smuggled}"))
            .await;
        let answer = caller.answer().await.expect("an answer");
        assert_eq!(answer.status(), "400", "{fields}: {}", answer.body);
        // The octets after the first request are not read as a second request.
        assert!(caller.answer().await.is_none(), "{fields}");
    }
}

#[tokio::test(start_paused = true)]
async fn audit_r_x8_ambiguous_lengths_behind_another_request_are_refused() {
    let head = format!("POST /cat HTTP/1.1\r\nHost: a\r\nContent-Type: {FORM}\r\n");
    let chunks = format!("{:x}\r\n{WAR}\r\n0\r\n\r\n", WAR.len());
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    let bad = format!("{head}{both}\r\n{chunks}{}", get("/cat"));
    let post = format!("{head}Content-Length: {}\r\n\r\n{WAR}", WAR.len());
    for first in [get("/cat"), post.clone(), format!("\r\n{}", get("/cat"))] {
        // The requests come in one packet, in two packets, or in two packets with the head of the second request split between them.
        for place in [
            first.len() + bad.len(),
            first.len() + 9,
            first.len() + head.len() + 25,
        ] {
            let all = format!("{first}{bad}");
            let (one, two) = all.split_at(place);
            let mut caller = Caller::new(Limits::default());
            caller.send(one).await;
            let answer = caller.answer().await.expect("an answer");
            assert_eq!(answer.status(), "200", "{first}: {}", answer.body);
            if !two.is_empty() {
                caller.send(two).await;
            }
            let answer = caller.answer().await.expect("an answer");
            assert_eq!(answer.status(), "400", "{first} {place}: {}", answer.body);
            assert!(caller.answer().await.is_none(), "{first}");
        }
    }
    // A request with chunks is the last request on its connection.
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}");
    let mut caller = Caller::new(Limits::default());
    caller.send(format!("{chunked}{bad}")).await;
    let answer = caller.answer().await.expect("an answer");
    assert_eq!(answer.status(), "200", "{}", answer.body);
    assert!(answer.head.contains("connection: close"), "{}", answer.head);
    assert!(caller.answer().await.is_none());
    // Requests that wait for the previous answer are accepted.
    let mut caller = Caller::new(Limits::default());
    for request in [get("/cat"), post.clone(), post, chunked] {
        caller.send(request).await;
        let answer = caller.answer().await.expect("an answer");
        assert_eq!(answer.status(), "200", "{}", answer.body);
    }
}

#[tokio::test(start_paused = true)]
async fn other_protocols_are_refused_in_words() {
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (octets, status) in [
        (preface, "505"),
        ("HELO lib.example\r\n\r\n", "400"),
        ("GET / FTP/1.1\r\n\r\n", "400"),
        ("GET /\r\n\r\n", "400"),
        ("GET /?query=\0war HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        ("GET /cat HTTP/1.1\r\nHost: a\0\r\n\r\n", "400"),
        ("CONNECT lib.example:443 HTTP/1.1\r\nHost: a\r\n\r\n", "405"),
    ] {
        let mut caller = Caller::new(Limits::default());
        caller.send(octets).await;
        let answer = caller.answer().await.expect("an answer");
        assert_eq!(answer.status(), status, "{octets:?}: {}", answer.head);
        if status != "405" {
            assert!(caller.answer().await.is_none(), "{octets:?}");
            caller.task.await.expect("no panic");
            let ends = caller.metrics.sessions_ended(SessionEnd::ProtocolError);
            assert_eq!(ends, 1, "{octets:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_parameters_get_diagnostics() {
    let million = "a".repeat(1 << 20);
    let many = "x-a=b&".repeat(1000);
    let nested = format!("query={}a{}", "(".repeat(10_000), ")".repeat(10_000));
    let siblings = format!(
        "<Envelope><Body><searchRetrieveRequest>{}",
        "<a/>".repeat(100_000)
    );
    for (request, status, expected) in [
        (get("/cat?query=%00"), "200", "control character"),
        (get("/cat?query=%zz"), "200", "hexadecimal"),
        (get("/cat?query=%ff"), "200", "UTF-8"),
        (get("/cat?query=a&query=b"), "200", "diagnostic"),
        (
            post("/cat", FORM, &format!("query={}", &million[..1_000_000])),
            "200",
            "query",
        ),
        (
            post("/cat", FORM, &format!("query={million}")),
            "413",
            "apdu-size",
        ),
        (post("/cat", FORM, &many), "200", "more than once"),
        (post("/cat", FORM, &nested), "200", "diagnostic"),
        (post("/cat", "text/xml", &siblings), "500", "faultstring"),
        (
            post(
                "/cat",
                "text/xml",
                "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
            ),
            "500",
            "faultstring",
        ),
        (
            post(
                "/cat",
                "text/xml",
                &SOAP.replace("</SOAP:Body>", "<updateRequest/></SOAP:Body>"),
            ),
            "500",
            "updateRequest",
        ),
        (
            get(&format!("/cat?query=a&recordSchema={}", "b".repeat(20_000))),
            "200",
            &format!("<diag:details>{}…</diag:details>", "b".repeat(200)),
        ),
    ] {
        let mut caller = Caller::new(Limits::default());
        caller.send(&request).await;
        let answer = caller.answer().await.expect("an answer");
        let start: String = request.chars().take(200).collect();
        let body: String = answer.body.chars().take(1000).collect();
        assert_eq!(answer.status(), status, "{start}: {body}");
        assert!(answer.body.contains(expected), "{start}: {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_in_browsers_cannot_update() {
    let update = r#"<updateRequest xmlns="http://www.loc.gov/zing/srw/update/"><version>1.0</version>
        <action>info:srw/action/1/delete</action><recordIdentifier>id7</recordIdentifier></updateRequest>"#;
    let request = post("/cat", "text/plain", update);
    let of_page = request.replace(
        "\r\nContent-Type",
        "\r\nOrigin: http://evil.example\r\nContent-Type",
    );
    let mut caller = Caller::new(Limits::default());
    caller.send(&of_page).await;
    let answer = caller.answer().await.expect("an answer");
    assert_eq!(answer.status(), "403", "{}", answer.body);
    caller.send(&request).await;
    assert_ne!(caller.answer().await.expect("an answer").status(), "403");
}
