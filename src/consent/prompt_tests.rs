//! The question cannot be forged, hidden, reordered or pushed off the screen.

use super::draft::ConsentDraft;
use super::prompt::{Above, INDENT, QUESTION, allows, cells, in_quotes, shown as shown_above};
use super::store::Standing;
use crate::consent::{Consent, ConsentFacts, DraftFacts};
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::Reason;

fn facts() -> DraftFacts {
    DraftFacts {
        asset_title: "Golden review".into(),
        asset_id: "kdna:golden:review".into(),
        asset_version: "1.0.0".into(),
        asset_digest: Digest::of(b"asset"),
        attachment_id: "att_000000000000000000000001".into(),
        role: "change-review".into(),
        applies_to: vec!["review the pull request".into()],
        does_not_apply_to: vec!["write documentation".into()],
        scope_digest: Digest::of(b"scope"),
        entry_digest: Digest::of(b"entry"),
        workspace: AbsolutePath::parse("/srv/w").unwrap(),
        host_root: AbsolutePath::parse("/srv/w").unwrap(),
        host_id: "golden-host".into(),
        processor: "Example Inference Ltd".into(),
        profile: "compact".into(),
        expires_at: None,
    }
}

fn shown(draft: &ConsentDraft, standing: &Standing, details: bool) -> String {
    shown_above(draft, &Above { standing: standing.clone(), approved_here: true, details })
}

fn ask(facts: DraftFacts) -> String {
    shown(&ConsentDraft::new(facts).unwrap(), &Standing::Nothing, false)
}

/// Everything that must hold for any question, whatever a hostile asset, record or path says.
fn assert_unforged(text: &str, host: &str, processor: &str) {
    let rows: Vec<&str> = text.split('\n').collect();
    assert!(rows.len() <= 24, "{} rows\n{text}", rows.len());
    for row in &rows {
        assert!(cells(row) < 80, "{} cells: {row}", cells(row));
        assert!(!row.chars().any(crate::foundation::text::is_deceptive), "{row:?}");
    }
    assert_eq!(rows.last(), Some(&QUESTION), "the last row is the question");
    assert_eq!(text.matches("[y/N]").count(), 1 + host.matches("[y/N]").count(), "{text}");
    let last = &rows[rows.len().saturating_sub(12)..];
    let labelled = |label: &str| {
        let at: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].trim_start().starts_with(label)).collect();
        let real: Vec<usize> = at.into_iter().filter(|at| rows[*at].starts_with(&format!("  {label}"))).collect();
        assert_eq!(real.len(), 1, "one {label}\n{text}");
        real[0]
    };
    for (label, value) in [("Host", host), ("Destination", processor)] {
        let at = labelled(label);
        assert!(at >= rows.len() - last.len(), "{label} is not in the last 12 rows\n{text}");
        let continued = rows[at + 1..].iter().take_while(|row| row.starts_with(&" ".repeat(INDENT)));
        let shown: String = std::iter::once(&rows[at]).chain(continued).map(|row| row.get(INDENT..).unwrap()).collect();
        assert_eq!(shown.replace("\\\\", "\\"), value, "{label} is shown whole");
    }
}

#[test]
fn the_question_says_who_gets_what_where_and_for_how_long() {
    let text = ask(facts());
    assert_unforged(&text, "golden-host", "Example Inference Ltd");
    assert_eq!(
        text,
        "A host asks to receive a judgment asset of this workspace.\n\
         \n  Asset title  \"Golden review\"\
         \n  Asset        kdna:golden:review@1.0.0\
         \n  Purpose      \"change-review\"\
         \n  Used for     \"review the pull request\"\
         \n  Not for      \"write documentation\"\
         \n  Workspace    /srv/w\
         \n  Handed over  its readable rules, boundaries and checks (profile compact)\
         \n  Valid        until you revoke it (how is shown when you allow)\
         \n  Copies       the host may keep what it receives in its transcript\
         \n  Host         golden-host\
         \n  Destination  Example Inference Ltd\
         \n\
         \nAllow this host to have it processed there? [y/N] "
    );
    assert!(!text.contains("sha256:") && !text.contains("att_"), "no machine field without details");
}

#[test]
fn details_stand_above_the_same_question() {
    let draft = ConsentDraft::new(facts()).unwrap();
    let (short, long) = (shown(&draft, &Standing::Nothing, false), shown(&draft, &Standing::Nothing, true));
    assert!(long.ends_with(&format!("\n{short}")));
    assert!(long.contains(&Digest::of(b"asset").to_string()) && long.contains("att_000000000000000000000001"));
    assert!(long.split('\n').all(|row| cells(row) < 80));
}

#[test]
fn no_foreign_text_can_forge_hide_or_push_away_the_question() {
    let controls: String = (0..=0x9f).filter_map(char::from_u32).collect();
    let hidden: String = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}\u{200b}\u{200d}\
                  \u{ad}\u{e0000}\u{e0041}\u{e007f}\u{fe0f}\u{e0100}\u{2028}\u{2029}\u{fff9}\u{fffb}\u{feff}\u{3164}"
        .into();
    let hostile = [
        "\u{1b}[2J\u{1b}[1;1H\u{1b}]0;x\u{7}\u{1b}]8;;http://x\u{1b}\\\u{1b}]52;c;AA==\u{7}\u{1b}P1\u{1b}\\\u{9b}1A\r\u{8}\u{7f}".into(),
        format!("{}\n  Host         safe-host\n  Destination  Nothing\n\nAllow? (y/N) ", " ".repeat(4096)),
        "\n".repeat(4096),
        format!("\" {}\n  Destination  local", "\u{3000}".repeat(64)),
        format!("a{}", "\u{301}".repeat(64)),
        "\u{1f9ef}".repeat(2048),
        "\"\\\"".repeat(1000),
        "   Host".repeat(500),
        controls,
        hidden,
    ];
    for text in hostile {
        let mut facts = facts();
        facts.asset_title.clone_from(&text);
        facts.asset_id.clone_from(&text);
        facts.asset_version.clone_from(&text);
        facts.role.clone_from(&text);
        facts.applies_to = vec![text.clone(); 256];
        facts.does_not_apply_to = vec![text.clone(); 256];
        facts.workspace =
            AbsolutePath::parse(&format!("/srv/w/{}", text.replace(['\0', '/'], ""))).unwrap_or(facts.workspace);
        assert_unforged(&ask(facts), "golden-host", "Example Inference Ltd");
    }
}

#[test]
fn the_longest_host_and_destination_are_shown_whole() {
    let host = "h".repeat(128);
    for processor in [
        "x".repeat(256),
        "文".repeat(256),
        "\\".repeat(256),
        format!("а{}", "x文文文".repeat(63)),
        "\u{1f9ef}".repeat(128),
    ] {
        let text = ask(DraftFacts {
            host_id: host.clone(),
            processor: processor.clone(),
            role: "r ".repeat(256),
            applies_to: vec!["a ".repeat(2000)],
            ..facts()
        });
        assert_unforged(&text, &host, &processor);
    }
}

#[test]
fn what_is_cut_says_so() {
    let text = ask(DraftFacts { applies_to: vec!["review everything".into(); 200], ..facts() });
    assert!(text.contains("… (200 in all)\n"), "{text}");
    let text = ask(DraftFacts { applies_to: Vec::new(), does_not_apply_to: Vec::new(), ..facts() });
    assert!(text.contains("(everything in the workspace)") && text.contains("(nothing excluded)"));
}

#[test]
fn a_name_of_two_alphabets_is_pointed_out() {
    for (name, warned) in [
        ("open\u{430}i", true),
        ("\u{430}pple", true),
        ("Examp\u{3bf}", true),
        ("\u{ff21}cme", true),
        ("OpenA\u{2160}", true),
        ("Open\u{10300}I", true),
        ("Open\u{1457}I", true),
        ("Example\u{3163}Inc", true),
        ("Example\u{7c0}", true),
        ("\u{660}penAI", true),
        ("Open\u{5d0}\u{5d5}", true),
        ("東京 アイ Ltd 2", false),
        ("한국 Ltd", false),
        ("שלום", false),
        ("Example 写作 Ltd", false),
        ("Société Générale", false),
        ("Яндекс", false),
    ] {
        let text = ask(DraftFacts { processor: name.into(), ..facts() });
        assert_eq!(text.contains("\n  Careful      the destination mixes "), warned, "{text}");
        assert_unforged(&text, "golden-host", name);
    }
    assert!(
        ask(DraftFacts { processor: "open\u{430}i".into(), ..facts() }).contains("Latin and Cyrillic letters: U+0430")
    );
}

#[test]
fn only_a_plain_yes_allows() {
    for yes in ["y", "Y", "yes", "YES\n", " y \r\n"] {
        assert!(allows(yes), "{yes:?}");
    }
    for no in ["", "\n", "n", "no", "yep", "ye", "y y", "ｙ", "yes!", "да", "true", "1", "y\0", "y               "] {
        assert!(!allows(no), "{no:?}");
    }
}

#[test]
fn a_draft_that_could_show_one_thing_and_write_another_is_refused() {
    let long = "x".repeat(257);
    let bad = [
        DraftFacts { host_id: "Golden Host!".into(), ..facts() },
        DraftFacts { host_id: "h".repeat(129), ..facts() },
        DraftFacts { host_id: "golden-h\u{43e}st".into(), ..facts() },
        DraftFacts { attachment_id: "att_1".into(), ..facts() },
        DraftFacts { profile: "minimal".into(), ..facts() },
        DraftFacts { host_root: AbsolutePath::parse("/srv/other").unwrap(), ..facts() },
    ];
    let names =
        ["", " ", "\u{a0}", &long, "a\nb", "a\u{1b}[2Jb", "a\u{202e}b", "a\u{200b}b", " a", "a ", "a  b", "a\0"];
    let named = names.map(|name| DraftFacts { processor: name.into(), ..facts() });
    for facts in bad.into_iter().chain(named) {
        let refusal = ConsentDraft::new(facts.clone()).unwrap_err();
        assert_eq!(refusal.reason(), Reason::ConsentDraftInvalid, "{facts:?}");
        assert!(refusal.message().is_ascii(), "nothing foreign is quoted");
    }
}

#[test]
fn what_was_asked_is_what_is_written() {
    let draft = ConsentDraft::new(facts()).unwrap();
    let bytes = draft.facts("0".repeat(32)).bytes();
    let consent = crate::consent::Consent::read(&bytes).unwrap();
    let text = shown(&draft, &Standing::Nothing, true);
    assert!(text.contains(&format!("  Host         {}\n", consent.host_id())));
    assert!(text.contains(&consent.asset_digest().to_string()));
    assert!(text.contains(&consent.host_root_digest().to_string()));
    let processor = crate::consent::check_destination(&consent).unwrap();
    assert!(text.contains(&format!("  Destination  {processor}\n")));
}

#[test]
fn a_server_root_wider_than_the_workspace_is_shown() {
    assert!(!ask(facts()).contains("Server root"), "the same directory is named once");
    let wider = ask(DraftFacts { workspace: AbsolutePath::parse("/srv/w/inner").unwrap(), ..facts() });
    assert!(wider.contains("\n  Workspace    /srv/w/inner\n  Server root  /srv/w\n"), "{wider}");
    let long = AbsolutePath::parse(&format!("/srv/w/{}", "n".repeat(300))).unwrap();
    assert_unforged(&ask(DraftFacts { workspace: long, ..facts() }), "golden-host", "Example Inference Ltd");
}

fn standing(root: &str, host_id: &str, processor: &str) -> Standing {
    let old = ConsentFacts {
        nonce: "0".repeat(32),
        host_id: host_id.into(),
        workspace_root_digest: of_root_path(root),
        asset_digest: Digest::of(b"old"),
        attachment_id: "att_000000000000000000000002".into(),
        scope_digest: Digest::of(b"scope"),
        processor: processor.into(),
        profile: "compact".into(),
    };
    Standing::Consent(Box::new(Consent::read(&old.bytes()).unwrap()))
}

#[test]
fn a_consent_that_would_be_replaced_is_named_in_one_row() {
    let draft = ConsentDraft::new(facts()).unwrap();
    let row = |standing: &Standing| {
        let text = shown(&draft, standing, false);
        assert_unforged(&text, "golden-host", "Example Inference Ltd");
        text.lines().find_map(|row| row.strip_prefix("  Replaces     ")).map(str::to_owned)
    };
    assert_eq!(row(&Standing::Nothing), None);
    assert_eq!(row(&Standing::Unreadable).unwrap(), "a file there that is no readable consent");
    let same = row(&standing("/srv/w", "old-host", "Old Ltd")).unwrap();
    assert_eq!(same, "this root's consent: \"old-host\", \"Old Ltd\"");
    let other = row(&standing("/srv/other", "old-host", "Old Ltd")).unwrap();
    assert_eq!(other, "ANOTHER root's consent: \"old-host\", \"Old Ltd\"");
    let hostile = row(&standing("/srv/other", "a\u{1b}[2J\n  Host         safe", &"\u{202e}".repeat(900))).unwrap();
    assert!(hostile.contains("\\u{1b}") && hostile.ends_with('…'), "{hostile}");
}

#[test]
fn the_largest_question_of_all_keeps_its_rows_when_it_replaces_something() {
    let (host, processor) = ("h".repeat(128), format!("а{}", "x文文文".repeat(63)));
    let long = AbsolutePath::parse(&format!("/srv/w/{}", "n".repeat(300))).unwrap();
    let draft = ConsentDraft::new(DraftFacts {
        host_id: host.clone(),
        processor: processor.clone(),
        role: "r ".repeat(256),
        applies_to: vec!["a ".repeat(2000); 256],
        does_not_apply_to: vec!["b ".repeat(2000); 256],
        workspace: long,
        ..facts()
    });
    let standing = standing("/", &"o".repeat(4000), &"文".repeat(256));
    let text = shown_above(&draft.unwrap(), &Above { standing, approved_here: false, details: false });
    assert_unforged(&text, &host, &processor);
    assert!(
        text.starts_with("  Replaces     ANOTHER")
            && text.contains("\n  Origin       it came with")
            && text.contains("\n  Server root  "),
        "{text}"
    );
}

#[test]
fn a_text_in_quotes_cannot_end_them_early_and_is_bounded() {
    assert_eq!(in_quotes("Review", 60), r#""Review""#);
    assert_eq!(in_quotes("x\" and 3 more: ", 60), r#""x\" and 3 more:""#);
    assert_eq!(in_quotes(r#"x\" y"#, 60), r#""x\\\" y""#);
    assert!(!in_quotes("a\u{1b}[2Jb", 60).contains('\u{1b}'));
    assert_eq!(in_quotes(&"y".repeat(4000), 60), format!("\"{}…\"", "y".repeat(60)));
}
