//! Tests of hashing and verifying passwords.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Returns a hash of `password` with low costs, from the tests of the reference implementation.
fn hash_of_password() -> PasswordHash {
    let text =
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    PasswordHash::parse(text).expect("a hash")
}

#[test]
fn r_f15_a_password_is_hashed_with_its_own_salt() {
    let hash = PasswordHash::of(b"secret").expect("hashed");
    let costs = "$argon2id$v=19$m=19456,t=2,p=1$";
    assert!(hash.as_str().starts_with(costs), "{}", hash.as_str());
    assert_eq!(PasswordHash::parse(hash.as_str()), Ok(hash.clone()));
    assert_ne!(PasswordHash::of(b"secret"), Ok(hash.clone()));
    for (password, is_right) in [
        ("secret", true),
        ("secre", false),
        ("Secret", false),
        ("", false),
    ] {
        assert_eq!(hash.matches(password.as_bytes()), is_right, "{password}");
    }
    assert_eq!(format!("{hash:?}"), "PasswordHash(<redacted>)");
}

#[test]
fn r_f15_hashes_of_other_programs_are_verified() {
    let hash = hash_of_password();
    assert!(hash.matches(b"password") && !hash.matches(b"Password"));
}

#[test]
fn r_f15_only_hashes_that_can_be_verified_are_read() {
    let salt_and_hash = "MDEyMzQ1Njc4OWFiY2RlZg$WmZlnVrMFBXKkPGmpuu1o4nSE0X0Cqg0OCeyr7P4Vug";
    let text = |costs: &str| format!("$argon2id$v=19${costs}${salt_and_hash}");
    for costs in [
        "m=19456,t=2,p=1",
        "m=8,t=1,p=1",
        "m=262144,t=4,p=4",
        "m=8,t=131072,p=1",
    ] {
        assert!(PasswordHash::parse(&text(costs)).is_ok(), "{costs}");
    }
    for (memory, passes) in [
        (262_145, 1),
        (262_144, 5),
        (8, 131_073),
        (8, u32::MAX),
        (u32::MAX, u32::MAX),
    ] {
        let costs = format!("m={memory},t={passes},p=1");
        let expected = PasswordHashError::TooCostly { memory, passes };
        assert_eq!(PasswordHash::parse(&text(&costs)), Err(expected), "{costs}");
    }
    let good = text("m=19456,t=2,p=1");
    for malformed in [
        text("m=7,t=2,p=1"),
        text("m=19456,t=0,p=1"),
        text("m=19456,t=2,p=0"),
        text("m=31,t=2,p=4"),
        text("m=19456,t=2,p=1,x=1"),
        text("m=4294967296,t=2,p=1"),
        good.replace("argon2id", "argon2i"),
        good.replace("argon2id", "scrypt"),
        good.replace("$v=19", ""),
        good.replace("v=19", "v=16"),
        good.replace("MDEyMzQ1Njc4OWFiY2RlZg", "MDEyMzQ1"),
        good.replace("WmZl", "Wm!l"),
        good.rsplit_once('$').expect("a hash").0.to_owned(),
        format!(" {good}"),
        format!("{good}\n"),
        format!("{good}$"),
        "$argon2id$v=19$m=19456,t=2,p=1".to_owned(),
        "secret".to_owned(),
        String::new(),
        "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW".to_owned(),
    ] {
        let parsed = PasswordHash::parse(&malformed);
        assert_eq!(parsed, Err(PasswordHashError::Malformed), "{malformed:?}");
    }
}

#[tokio::test]
async fn r_f15_a_password_is_verified_once_and_remembered() {
    let hash = hash_of_password();
    let checks = PasswordChecks::new(&Limits::default());
    for (password, is_right) in [("password", true), ("wrong", false)] {
        assert_eq!(checks.recall(&hash, password.as_bytes()), None);
        checks.verify(&hash, password.as_bytes()).await;
        assert_eq!(checks.recall(&hash, password.as_bytes()), Some(is_right));
        assert_eq!(checks.is_right(&hash, password.as_bytes()), is_right);
        // Without a permit, nothing can be verified again.
        let held = Arc::clone(&checks.permits).acquire_many_owned(2).await;
        checks.verify(&hash, password.as_bytes()).await;
        drop(held);
    }
    // The same password with a different hash is verified separately.
    let other = PasswordHash::with_low_costs(b"password");
    assert!(!checks.is_right(&other, b"password"));
}

#[tokio::test(start_paused = true)]
async fn r_f15_remembered_data_is_limited_and_expires() {
    let hash = hash_of_password();
    let checks = PasswordChecks::new(&Limits::default());
    checks.remember(&hash, b"password", true);
    checks.remember(&hash, b"wrong", false);
    tokio::time::advance(REMEMBERED_WRONG).await;
    assert_eq!(checks.recall(&hash, b"password"), Some(true));
    assert_eq!(checks.recall(&hash, b"wrong"), None);
    for number in 0..2 * MAX_REMEMBERED {
        checks.remember(&hash, &number.to_be_bytes(), false);
    }
    assert_eq!(lock(&checks.known).len(), MAX_REMEMBERED);
    let recalled = checks.recall(&hash, b"password");
    assert_eq!(recalled, Some(true), "guesses do not drive it out");
    tokio::time::advance(REMEMBERED).await;
    assert_eq!(checks.recall(&hash, b"password"), None);
}

/// A verification waits for one of a limited number of permits, and returns the permit when it ends.
#[tokio::test]
async fn r_f15_verifications_wait_for_a_permit() {
    let limits = Limits {
        password_checks: 2,
        ..Limits::default()
    };
    let checks = Arc::new(PasswordChecks::new(&limits));
    let hash = hash_of_password();
    let permits = Arc::clone(&checks.permits);
    let held = permits.try_acquire_many(2).expect("two permits");
    let ended = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..5 {
        let (checks, hash) = (Arc::clone(&checks), hash.clone());
        let ended = Arc::clone(&ended);
        tasks.spawn(async move {
            checks
                .verify(&hash, format!("guess {number}").as_bytes())
                .await;
            ended.fetch_add(1, Ordering::SeqCst);
        });
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ended.load(Ordering::SeqCst), 0);
    drop(held);
    while let Some(task) = tasks.join_next().await {
        task.expect("no panic");
    }
    assert_eq!(ended.load(Ordering::SeqCst), 5);
    assert_eq!(permits.available_permits(), 2);
}
