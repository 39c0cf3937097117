//! What of the asset contract's later version, 0.22, is switched on beside the base profile 0.21. Nothing is, unless a
//! person asks for it with an option of one command; the broker never does, because its documents would have other members.

/// The two switches. Either makes the loader version 0.22.0; each adds only its own part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// `--signatures`: an entry `signature.kdsig` is allowed and verified, and plans say so.
    pub signatures: bool,
    /// `--minimal`: a load contract may declare the profile `minimal`, and a load may ask for it.
    pub minimal: bool,
}

impl Switches {
    /// The base profile.
    pub const NONE: Switches = Switches { signatures: false, minimal: false };

    /// Whether anything is switched on.
    pub const fn any(self) -> bool {
        self.signatures || self.minimal
    }
}
