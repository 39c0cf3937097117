//! The coordinates that a host gives the server, as the doctor judges them: root, host, consent, password file. Opens no
//! password and changes nothing.

use super::{Finding, good, loads, missing, note, refused, shown};
use crate::broker::Settings;
use crate::capability::home::Homes;
use crate::capability::root::PinnedRoot;
use crate::capability::secret::AuthorizationSource;
use crate::capability::state;
use crate::cli::environment::Environment;
use crate::cli::grammar::shell_word;
use crate::consent::document::Consent;
use crate::consent::store::{ConsentSource, names_of_set};
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::is_host_id;
use crate::system::System;

/// The coordinates that a host would give the server, judged as the server judges them. One that is not set is noted:
/// this command is often run where no host has set any.
pub(super) fn examine<S: System>(system: &S, environment: &Environment) -> Vec<Finding> {
    let settings = &environment.settings;
    let pinned = pin(system, settings);
    let mut found = vec![match (&settings.workspace_root, &pinned) {
        (None, _) => unset("root", "KDNA_MCP_WORKSPACE_ROOT"),
        (_, Ok(root)) => good("root", format!("{} can be the workspace root", shown(root.path().as_str()))),
        (_, Err(refusal)) => refused("root", refusal),
    }];
    found.push(match settings.host_id.as_deref() {
        None => unset("host", "KDNA_MCP_HOST_ID"),
        Some(id) if is_host_id(id) => good("host", format!("the host is {}", shown(id))),
        Some(_) => refused("host", &Reason::HostIdInvalid.into()),
    });
    // Which directory the root is matters to the consent; without a root it is not judged.
    if let Ok(root) = &pinned {
        let loads = loads::examine(system, environment, root);
        found.push(match (&settings.consent_file, &settings.consent_directory) {
            (None, None) => match settings.host_id.as_deref().filter(|id| is_host_id(id)) {
                Some(host) => consent_unset(system, settings, host),
                None => unset("consent", CONSENT_VARIABLES),
            },
            (Some(file), _) if !file.is_empty() => consent(system, settings, root),
            _ => consent_set(system, settings, root),
        });
        found.extend(loads);
    }
    found.extend(password(system, settings, pinned.as_ref().ok()));
    found
}

const CONSENT_VARIABLES: &str = "KDNA_BROKER_CONSENT_DIR or KDNA_MCP_HOST_PROCESSING_CONSENT_FILE";

/// A host and a root are named, so this is a host's environment, and it lacks what every load needs.
fn consent_unset<S: System>(system: &S, settings: &Settings, host: &str) -> Finding {
    let set =
        state::state_path(system, settings.state_directory.as_deref()).map(|state| state::consent_set_path(&state));
    let set = set.map_or_else(|_| "DIR".to_owned(), |set| shell_word(&shown(set.as_str())));
    missing(
        "consent",
        format!("{CONSENT_VARIABLES} is not set: every load is refused without it"),
        format!(
            "Next: kdna-broker consent request --host {host} --processor NAME, and give the host \
             KDNA_BROKER_CONSENT_DIR={set}"
        ),
    )
}

/// The password file, if one is named; beside which workspace, if one is known.
fn password<S: System>(system: &S, settings: &Settings, root: Option<&PinnedRoot<S>>) -> Option<Finding> {
    let coordinate = settings.authorization_file.as_deref().filter(|text| !text.is_empty())?;
    let bound = match root {
        Some(root) => AuthorizationSource::bind(system, coordinate, root),
        None => AuthorizationSource::bind_beside(system, coordinate),
    };
    Some(match (bound, root) {
        (Ok(_), Some(_)) => good("password", "the password file is private and outside the workspace"),
        (Ok(_), None) => good("password", "the password file is private"),
        (Err(refusal), _) => refused("password", &refusal),
    })
}

fn pin<S: System>(system: &S, settings: &Settings) -> Result<PinnedRoot<S>, Refusal> {
    let homes = Homes::find(system, settings.home.as_deref())?;
    let state = state::state_path(system, settings.state_directory.as_deref())?;
    PinnedRoot::pin(system, settings.workspace_root.as_deref(), &homes, &state)
}

fn consent<S: System>(system: &S, settings: &Settings, root: &PinnedRoot<S>) -> Finding {
    let source = ConsentSource::bind(system, settings.consent_file.as_deref(), root.identity());
    match source.read(system).and_then(|bytes| Consent::read(&bytes)) {
        Ok(_) => good("consent", "the consent document is private and readable; each load checks what it is for"),
        Err(refusal) => refused("consent", &refusal),
    }
}

fn consent_set<S: System>(system: &S, settings: &Settings, root: &PinnedRoot<S>) -> Finding {
    let coordinate = settings.consent_directory.as_deref();
    if let Some(reason) = ConsentSource::bind_either(system, None, coordinate, root.identity()).unbound() {
        return refused("consent", &reason.into());
    }
    let names = coordinate.and_then(|text| AbsolutePath::parse(text).ok()).map(|set| names_of_set(system, &set));
    match names {
        Some(Ok(names)) if names.is_empty() => {
            note("consent", "the consent set is private and empty", Refusal::new(Reason::ConsentNotInSet).remedy())
        }
        Some(Ok(names)) => {
            good("consent", format!("the consent set is private and holds {}; each load checks its own", names.len()))
        }
        _ => refused("consent", &Reason::ConsentParentInsecure.into()),
    }
}

fn unset(topic: &'static str, name: &str) -> Finding {
    note(topic, format!("{name} is not set here"), "Run this command with the environment of the host's configuration.")
}
