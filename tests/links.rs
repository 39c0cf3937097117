//! A reader who follows a link of a page arrives.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot be arranged must stop, and says why")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use support::package;

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.') || name == "target");
        if path.is_dir() && !hidden {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The targets of `[text](target)`, those on other machines left out.
fn targets(text: &str) -> Vec<&str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    links.filter(|target| !target.contains("://")).collect()
}

/// The anchor of a heading.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    Some(kept.collect::<String>().replace(' ', "-"))
}

/// Whether a link of a page leads to a file, and to a heading of it if it names one.
fn arrives(page: &Path, target: &str) -> bool {
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let path = if file.is_empty() { page.to_owned() } else { page.with_file_name(file) };
    match heading {
        None => path.exists(),
        Some(heading) => {
            fs::read_to_string(path).is_ok_and(|text| text.lines().filter_map(anchor).any(|anchor| anchor == heading))
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut found = Vec::new();
    pages(&package(), &mut found);
    assert!(found.len() > 10, "the pages were not found");
    let mut lost = Vec::new();
    for page in found {
        let text = fs::read_to_string(&page).expect("a page");
        let bad = targets(&text).into_iter().filter(|target| !arrives(&page, target));
        lost.extend(bad.map(|target| format!("{}: {target}", page.display())));
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_lost_link_is_found() {
    let page = package().join("SECURITY.md");
    assert!(arrives(&page, "docs/architecture.md#a-load") && arrives(&page, "#boundaries"));
    assert!(
        !arrives(&page, "docs/none.md") && !arrives(&page, "docs/architecture.md#none") && !arrives(&page, "#none")
    );
}
