//! Where the broker keeps its private state: `.local/state/kdna-broker` in the account's home from the password
//! database, whatever `HOME` or XDG variables say, or what `KDNA_BROKER_STATE_DIR` names.

use crate::capability::home;
use crate::capability::private_file::{PrivateDirectory, make_private};
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Observe, System};

/// The state directory's path. Nothing is created. `state_directory_invalid` if the coordinate is not absolute and
/// normal, or if there is neither a coordinate nor an account home.
pub fn state_path<S: Observe>(system: &S, coordinate: Option<&str>) -> Result<AbsolutePath, Refusal> {
    if let Some(text) = coordinate {
        return AbsolutePath::parse(text)
            .ok()
            .filter(|path| !path.is_filesystem_root())
            .ok_or_else(|| Reason::StateCoordinateInvalid.into());
    }
    let home = system.account_home().ok_or(Reason::StateCoordinateInvalid)?;
    // Private directories are reached without links, so a home behind one is named by its real path.
    let home = home::real(system, &home).unwrap_or(home);
    let below = RelativePath::parse(".local/state/kdna-broker").unwrap_or_default();
    Ok(home.join(&below))
}

/// Where the person's commands keep the consent unless another place is named, below a state directory.
pub fn consent_path(state: &AbsolutePath) -> AbsolutePath {
    state.join(&RelativePath::parse("consent/processing-consent.json").unwrap_or_default())
}

/// Where the person's commands keep one consent for each coordinates, below a state directory.
pub fn consent_set_path(state: &AbsolutePath) -> AbsolutePath {
    state.join(&RelativePath::parse("consents").unwrap_or_default())
}

/// Opens the state directory, creating it (and what is above it) with mode 0700 where absent.
pub fn open_state<S: System>(system: &S, path: &AbsolutePath) -> Result<PrivateDirectory<S>, Refusal> {
    make_private(system, path).map_err(|_| Reason::StateInsecure.into())
}
