//! runtime/attachments
