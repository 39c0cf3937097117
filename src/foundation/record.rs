//! The attachment record (`.kdna/attachments.json`), read strictly and kept in its own key order.
