//! How a runtime operation fails: with a code of the contract, or with none. Closed; never quotes a byte of the asset.

use crate::foundation::limits;
use std::fmt;

/// A failed operation. Printed as `operation failed safely [CODE].`, or `operation failed safely.` where the contract
/// has no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeFault {
    code: Option<&'static str>,
    too_costly: bool,
}

impl RuntimeFault {
    /// The container, a manifest or a request that the contract refuses without naming a reason.
    pub(in crate::runtime) const UNNAMED: RuntimeFault = RuntimeFault { code: None, too_costly: false };

    /// A failure with one of the [`code`]s.
    pub(in crate::runtime) const fn coded(code: &'static str) -> Self {
        RuntimeFault { code: Some(code), too_costly: false }
    }

    /// An envelope whose derivation would cost more than the limits allow. No password was tried.
    pub(in crate::runtime) const TOO_COSTLY: RuntimeFault =
        RuntimeFault { code: Some(code::DECRYPT_FAILED), too_costly: true };

    /// What a worker says: the code, or the word for a derivation that would cost too much.
    pub const fn word(&self) -> Option<&'static str> {
        if self.too_costly { Some(limits::KDF_REFUSED) } else { self.code }
    }

    /// The code of the contract, if it has one.
    pub const fn code(&self) -> Option<&'static str> {
        self.code
    }
}

impl fmt::Display for RuntimeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "operation failed safely [{code}]."),
            None => f.write_str("operation failed safely."),
        }
    }
}

impl std::error::Error for RuntimeFault {}

/// Every code that this runtime gives, for issues of a plan and for failed loads.
#[allow(missing_docs)]
pub(in crate::runtime) mod code {
    pub(in crate::runtime) const OUT_OF_RANGE: &str = "ERR_OUT_OF_RANGE";
    pub(in crate::runtime) const DEFLATE_INVALID: &str = "Z_DATA_ERROR";
    pub(in crate::runtime) const DEFLATE_TRUNCATED: &str = "Z_BUF_ERROR";
    pub(in crate::runtime) const FORMAT_INVALID: &str = "KDNA_FORMAT_INVALID";
    pub(in crate::runtime) const DIGEST_FAILED: &str = "KDNA_INTEGRITY_DIGEST_FAILED";
    pub(in crate::runtime) const SIGNATURE_FAILED: &str = "KDNA_INTEGRITY_SIGNATURE_FAILED";
    pub(in crate::runtime) const SIGNATURE_VERSION_UNSUPPORTED: &str = "KDNA_SIGNATURE_VERSION_UNSUPPORTED";
    pub(in crate::runtime) const SIGNATURE_PROFILE_UNSUPPORTED: &str = "KDNA_SIGNATURE_PROFILE_UNSUPPORTED";
    pub(in crate::runtime) const LOADER_VERSION_UNSUPPORTED: &str = "KDNA_LOADER_VERSION_UNSUPPORTED";
    pub(in crate::runtime) const DEPENDENCY_RESOLVER_MISSING: &str = "KDNA_DEPENDENCY_RESOLVER_MISSING";
    pub(in crate::runtime) const EXTENDS_RESOLVER_MISSING: &str = "KDNA_EXTENDS_RESOLVER_MISSING";
    pub(in crate::runtime) const REMOTE_RUNTIME_REQUIRED: &str = "KDNA_AUTH_REMOTE_RUNTIME_REQUIRED";
    pub(in crate::runtime) const PASSWORD_UNVERIFIED: &str = "KDNA_AUTH_PASSWORD_UNVERIFIED";
    pub(in crate::runtime) const PASSWORD_REQUIRED: &str = "KDNA_AUTH_PASSWORD_REQUIRED";
    pub(in crate::runtime) const ACCOUNT_REQUIRED: &str = "KDNA_AUTH_ACCOUNT_REQUIRED";
    pub(in crate::runtime) const ORG_REQUIRED: &str = "KDNA_AUTH_ORG_REQUIRED";
    pub(in crate::runtime) const EXPIRED: &str = "KDNA_AUTH_EXPIRED";
    pub(in crate::runtime) const REVOKED: &str = "KDNA_AUTH_REVOKED";
    pub(in crate::runtime) const OFFLINE_GRACE_ACTIVE: &str = "KDNA_AUTH_OFFLINE_GRACE_ACTIVE";
    pub(in crate::runtime) const ENTITLEMENT_REQUIRED: &str = "KDNA_AUTH_ENTITLEMENT_REQUIRED";
    pub(in crate::runtime) const CRYPTO_PROFILE_UNSUPPORTED: &str = "KDNA_CRYPTO_PROFILE_UNSUPPORTED";
    pub(in crate::runtime) const ACTIVE_DIAGNOSTIC: &str = "KDNA_AUTH_ACTIVE_DIAGNOSTIC";
    pub(in crate::runtime) const PASSWORD_DIAGNOSTIC: &str = "KDNA_AUTH_PASSWORD_DIAGNOSTIC";
    pub(in crate::runtime) const DECRYPT_FAILED: &str = "KDNA_DECRYPT_FAILED";
    pub(in crate::runtime) const PAYLOAD_INVALID: &str = "KDNA_PAYLOAD_INVALID";
    pub(in crate::runtime) const CONTENT_DECLARATION_CONFLICT: &str = "KDNA_CONTENT_DIGEST_DECLARATION_CONFLICT";
    pub(in crate::runtime) const DIGEST_EXPECTATION_INVALID: &str = "KDNA_DIGEST_EXPECTATION_INVALID";
    pub(in crate::runtime) const CONTENT_MISMATCH: &str = "KDNA_CONTENT_DIGEST_MISMATCH";
    pub(in crate::runtime) const ENTRY_SET_MISMATCH: &str = "KDNA_RUNTIME_ENTRY_SET_DIGEST_MISMATCH";
    pub(in crate::runtime) const CAPSULE_BUILD_INVALID: &str = "KDNA_RUNTIME_CAPSULE_BUILD_INVALID";
}
