//! Both directions: what must be masked, and what must not.
//!
//! The secrets here are made up, and put together when a test runs: nothing that scans this tree shall find one.

use super::*;

/// So many characters of a kind, never twice the same.
fn made_up(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length).map(|it| letters[(it * 7 + it / letters.len() + 3) % letters.len()]).collect()
}

fn mixed(length: usize) -> String {
    made_up("aB3cD4eF5gH6jK7mN8pQ9rS2tU", length)
}

fn hex(length: usize) -> String {
    made_up("0123456789abcdef", length)
}

/// The log as it is stored, through windows of every size that a pipe may give.
fn masked(log: &[u8], piece: usize) -> Vec<u8> {
    let mut masker = Masker::new();
    let mut masked = Vec::new();
    log.chunks(piece).for_each(|it| masker.push(it, &mut masked));
    masker.finish(&mut masked);
    masked
}

#[test]
fn tokens_that_say_what_they_are_are_masked() {
    let tokens = [
        format!("ghp_{}", mixed(36)),
        format!("github_pat_{}_{}", mixed(22), mixed(59)),
        format!("glpat-{}", mixed(20)),
        format!("npm_{}", mixed(36)),
        format!("pypi-AgEIcHlwaS5vcmc{}", mixed(60)),
        format!("xoxb-{}-{}", made_up("123456789", 12), mixed(24)),
        format!("sk_live_{}", mixed(24)),
        format!("whsec_{}", mixed(32)),
        format!("AKIA{}", made_up("ABCDEFGH234567", 16)),
        format!("AIza{}", mixed(35)),
        format!("ya29.{}", mixed(60)),
        format!("sk-proj-{}", mixed(48)),
        format!("sk-ant-api03-{}", mixed(90)),
        format!("sk-{}", hex(32)),
        format!("hf_{}", mixed(34)),
        format!("SG.{}.{}", mixed(22), mixed(43)),
        format!("dckr_pat_{}", mixed(27)),
        format!("dg_{}", mixed(38)),
        format!("eyJ{}.eyJ{}.{}", mixed(20), mixed(40), mixed(43)),
        format!("{}8Q~{}", mixed(3), mixed(34)),
        format!("{}:AA{}", made_up("123456789", 10), mixed(33)),
    ];
    for token in tokens {
        for text in [format!("push {token}"), format!("x={token}\nok"), format!("(\"{token}\")")] {
            let expected = text.replace(&token, MASK);
            assert_eq!(redact(&text), expected);
        }
        assert_eq!(redact(&format!("x{token}y")).contains(MASK), token.contains("Q~"), "{token}");
    }
}

#[test]
fn tokens_that_were_cut_with_the_line_that_shows_them_are_masked() {
    let word = made_up("abcdefghijklmnop", 16);
    for (text, expected) in [
        (format!("  3 | let t = \"ghp_{word}"), "  3 | let t = \"[redacted]"),
        (format!("let t = \"ghp_{word}…"), "let t = \"[redacted]…"),
        (format!("npm_{}... at x", mixed(20)), "[redacted]... at x"),
        (format!("AIza{}…", mixed(14)), "[redacted]…"),
    ] {
        assert_eq!(redact(&text), expected);
    }
    for text in ["npm_lifecyclescript and ghp_short…".to_owned(), format!("npm_{}", mixed(20))] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn values_that_a_name_or_a_place_makes_secrets_are_masked() {
    let word = mixed(20);
    let cases = [
        ("DB_PASSWORD=hunter22 retry", "DB_PASSWORD=[redacted] retry"),
        ("DB_PASSWORD=correcthorse", "DB_PASSWORD=[redacted]"),
        (r#"{"api_key": "abcdef123456"}"#, r#"{"api_key": "[redacted]"}"#),
        (r#"{\"password\":\"hunter2!\"}"#, r#"{\"password\":\"[redacted]\"}"#),
        ("connect(password='hunter2')", "connect(password='[redacted]')"),
        ("host=db user=app password=s3cret! port=1", "host=db user=app password=[redacted] port=1"),
        ("os.environ[\"SECRET_KEY\"] = \"abcd\"", "os.environ[\"SECRET_KEY\"] = \"[redacted]\""),
        ("deploy --token abc123def456 --yes", "deploy --token [redacted] --yes"),
        ("client_secret => 'zz-top-1'", "client_secret => '[redacted]'"),
        ("Authorization: Bearer abc.def-ghi_jkl", "Authorization: Bearer [redacted]"),
        ("\"authorization\": \"Basic dXNlcjpw\"", "\"authorization\": \"Basic [redacted]\""),
        ("> Authorization: token a1b2c3d4e5", "> Authorization: token [redacted]"),
        ("sent Bearer abcdefgh12345678", "sent Bearer [redacted]"),
        ("Cookie: session=abc; theme=dark", "Cookie: [redacted]"),
        ("Set-Cookie: sid=abcdef; Path=/", "Set-Cookie: sid=[redacted]; Path=/"),
        ("postgres://app:s3cret@db/x", "postgres://app:[redacted]@db/x"),
        ("AccountKey=ab12cd34ef==;Endpoint=x", "AccountKey=[redacted];Endpoint=x"),
        ("the password is hunter2.", "the password is [redacted]."),
        ("password: hunter2", "password: [redacted]"),
        ("password: p@ssword", "password: [redacted]"),
        ("+ mysql -uroot -phunter -e 'select 1'", "+ mysql -uroot -p[redacted] -e 'select 1'"),
        ("exec db /usr/bin/mysqldump -p'hunter' x", "exec db /usr/bin/mysqldump -p'[redacted]' x"),
        ("docker login -u app -p hunter r.example", "docker login -u app -p [redacted] r.example"),
        ("sshpass -p hunter ssh a@b.example", "sshpass -p [redacted] ssh a@b.example"),
        (
            "$ curl -sf -u app:hunter https://a.example",
            "$ curl -sf -u app:[redacted] https://a.example",
        ),
        ("curl --user \"app:hunter\" a.example", "curl --user \"app:[redacted]\" a.example"),
    ];
    for (text, masked) in cases {
        assert_eq!(redact(text), masked);
    }
    for (text, masked) in [
        (
            format!("git clone https://{word}@git.example/a"),
            "git clone https://[redacted]@git.example/a",
        ),
        (
            format!("https://hooks.slack.com/services/T1/{word}"),
            "https://hooks.slack.com/services/[redacted]",
        ),
        (
            format!("https://a.example/b?sv=1&sig={word}{word}"),
            "https://a.example/b?sv=1&sig=[redacted]",
        ),
    ] {
        assert_eq!(redact(&text), masked);
    }
}

#[test]
fn private_keys_are_masked_as_they_are_printed() {
    let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
    let line = made_up("aB3cD4eF5gH6jK7mN8pQ9rS2tU+/", 64);
    for (text, masked) in [
        (format!("{begin}\n{line}\n{line}\n{end}\nok"), format!("{begin}[redacted]{end}\nok")),
        (
            format!("\"{begin}\\n{line}\\n{end}\\n\" ok"),
            format!("\"{begin}[redacted]{end}\\n\" ok"),
        ),
        (
            format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n{line}\n{end}"),
            format!("{begin}[redacted]{end}"),
        ),
        (
            format!("{begin}\n{line}\nand then it failed"),
            format!("{begin}[redacted]\nand then it failed"),
        ),
        (
            format!("#9 0.1 {begin}\n#9 0.1 {line}\n#9 0.1 {end}\nok"),
            format!("#9 0.1 {begin}[redacted]#9 0.1 {end}\nok"),
        ),
        (format!("left out\n{line}\n{line}\n{end}"), format!("left out\n[redacted]{end}")),
    ] {
        assert_eq!(redact(&text), masked);
    }
}

#[test]
fn ordinary_output_is_untouched() {
    let texts = [
        "expected token `;`",
        "left: \"password\"",
        "wrong password: 3 attempts",
        "password: incorrect",
        "password: String,",
        "    api_key: Option<String>,",
        "secret: [u8; 32],",
        "let token = lexer.next_token();",
        "password = get_password()",
        "SyntaxError: Unexpected token: punc (})",
        "{\"password\": [\"This field is required.\"]}",
        "PWD=/home/agent/project",
        "SECRET_KEY_FILE=/run/secrets/key",
        "DB_PASSWORD=${DB_PASSWORD} API_KEY=<your key> TOKEN=***",
        "PASSWORD=None",
        "if \"-----BEGIN PRIVATE KEY-----\" in text:\n    return Key(text)\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "http://localhost:3000/@vite/client and git@github.com:a/b.git",
        "https://user@host.example/path",
        "<div class=\"sk-toggleable__label-arrow sk-estimator-doc-link\">",
        "risk-assessment-of-everything-1234567890",
        "Authorization: required",
        "the bearer authentication-scheme is missing",
        "WWW-Authenticate: Bearer realm=\"api\"",
        "npm_config_registry=x npm_package_json=y npm_lifecycle_event=test",
        "cookie: chocolate",
        "assert response.cookies == {}",
        "test password::tests::hashes_2_rounds ... ok",
        "the password is incorrect",
        "password is required",
        "the secret is base64",
        "mkdir -p mysql/data && ls -path x",
        "mysql -P 3306 -p -u root",
        "mysql -p$MYSQL_PASSWORD -p\"${PW}\"",
        "docker run -p 8080:80 app",
        "cargo test -p gate-core -unit",
        "curl -u app https://a.example:8080/x",
        "curl -u $USER:$PASSWORD https://a.example",
        "docker compose -p project up && docker login r.example",
        "ghp_ is the prefix of a token; sk-... and npm_lifecycle... are cut",
    ];
    for text in texts {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn digests_ids_and_snapshots_are_untouched() {
    let base64 = made_up("aB3cD4eF5gH6jK7mN8pQ9rS2tU+/", 64);
    for text in [
        format!("sha256:{}", hex(64)),
        format!("commit {}", hex(40)),
        "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001".to_owned(),
        format!("integrity sha512-{base64}{base64}=="),
        format!("{base64}\n{base64}\n{base64}\n"),
        format!("data:image/png;base64,{base64}"),
        format!("Key {{ id: 7, cache: \"{}\" }}", hex(32)),
    ] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn a_stored_log_keeps_its_length_and_its_lines() {
    let log = format!("a\nPASSWORD=hunter2\r\npush ghp_{}\n\0é\n", mixed(36));
    let stored = masked(log.as_bytes(), 7);
    let expected = format!("a\nPASSWORD=*******\r\npush {}\n\0é\n", "*".repeat(40));
    assert_eq!(String::from_utf8_lossy(&stored), expected);
    assert_eq!(stored.len(), log.len());
}

#[test]
fn a_secret_over_a_border_is_masked_however_the_log_comes_in() {
    let token = format!("ghp_{}", mixed(36));
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n",
        format!("{}\n", mixed(64)).repeat(50)
    );
    let mut log = Vec::new();
    // At many places of many windows.
    while log.len() < 1_500_000 {
        log.extend_from_slice(&vec![b'.'; 10_007 + log.len() % 97]);
        log.extend_from_slice(format!("\n{token}\npassword='{}'\n{key}", mixed(30)).as_bytes());
    }
    let whole = masked(&log, log.len());
    assert_eq!(whole.len(), log.len());
    let text = String::from_utf8(whole.clone()).unwrap();
    assert!(!text.contains(&token) && !text.contains(&mixed(20)));
    assert_eq!(
        text.matches("-----BEGIN PRIVATE KEY-----\n**").count(),
        text.matches("password='**").count()
    );
    let ranges = find::all(&log);
    let mut expected = log.clone();
    for range in ranges {
        expected[range].iter_mut().filter(|it| !matches!(it, b'\n')).for_each(|it| *it = b'*');
    }
    assert!(whole == expected, "windows see what one look at the whole sees");
    for piece in [1, 4_096, 65_537, 262_144] {
        assert!(masked(&log, piece) == whole, "in pieces of {piece}");
    }
}

#[test]
fn a_secret_longer_than_a_window_is_masked_to_its_end() {
    let log = format!("sk-{}\nafter", mixed(900_000));
    let stored = masked(log.as_bytes(), 10_000);
    assert_eq!(stored, format!("{}\nafter", "*".repeat(900_003)).into_bytes());
}

#[test]
fn what_looks_like_many_beginnings_is_not_looked_at_again_and_again() {
    let pieces = [
        "password=",
        "token=",
        "sk-",
        "ghp_",
        "xoxb-",
        "authorization=",
        "bearer ",
        "://a:",
        "eyJ",
        "eyJ.",
        "Cookie: ",
        "token='",
        "?sig=",
        ".atlasv1.",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
    ];
    for piece in pieces {
        let log = piece.repeat(400_000 / piece.len());
        let bytes = class::work::bytes(|| drop(masked(log.as_bytes(), 65_536)));
        assert!(bytes <= 20 * log.len(), "{piece}: {bytes} of {}", log.len());
    }
}

/// No secret is in the real logs here, so nothing that they must tell is masked.
#[test]
fn nothing_that_a_real_log_must_tell_is_masked() {
    fn files(directory: &std::path::Path, into: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, into) } else { into.push(path) }
        }
    }
    let mut paths = Vec::new();
    files(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut paths);
    assert!(paths.len() > 100, "{}", paths.len());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let secrets = find::all(&bytes);
        let shown: Vec<_> =
            secrets.iter().map(|it| String::from_utf8_lossy(&bytes[it.clone()])).collect();
        assert!(shown.is_empty(), "{}: {shown:?}", path.display());
    }
}
