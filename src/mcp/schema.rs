//! The three tools as `tools/list` shows them: names, order, descriptions and input schemas of the contract, and what
//! later revisions let a server add. What the schemas say, `arguments` enforces.

use super::revisions::Revision;

/// How the tools are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ToolNames {
    /// `kdna.workspace-status` and so on.
    #[default]
    Dotted,
    /// `kdna_workspace_status` and so on, for hosts that reject a dot.
    Portable,
}

impl ToolNames {
    /// Reads the word of the command line: `dotted` or `portable`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "dotted" => Some(Self::Dotted),
            "portable" => Some(Self::Portable),
            _ => None,
        }
    }
}

/// One of the three tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Status,
    Resolve,
    Load,
}

const CWD: &str = r#""cwd":{"type":"string","minLength":1,"maxLength":4096}"#;
const TASK: &str = r#""task":{"type":"string","minLength":1,"maxLength":65536}"#;
/// Up to what `approved` may be.
const SELECTION: &str = r#""selection":{"type":"object","additionalProperties":false,"required":["attachment_id","task_digest","approved"],"properties":{"attachment_id":{"type":"string","pattern":"^att_[0-9a-f]{24}$"},"task_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"plan_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"approved":"#;
const PROFILE: &str = r#""profile":{"type":"string","enum":["index","compact","scenario","full"]}"#;

impl Tool {
    /// In the order of the list.
    pub(crate) const ALL: [Tool; 3] = [Tool::Status, Tool::Resolve, Tool::Load];

    /// The tool of this name, in this way of naming; no other spelling is known.
    pub(crate) fn named(name: &[u8], names: ToolNames) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name(names).as_bytes() == name)
    }

    pub(crate) const fn name(self, names: ToolNames) -> &'static str {
        match (self, names) {
            (Tool::Status, ToolNames::Dotted) => "kdna.workspace-status",
            (Tool::Resolve, ToolNames::Dotted) => "kdna.workspace-resolve",
            (Tool::Load, ToolNames::Dotted) => "kdna.workspace-load",
            (Tool::Status, ToolNames::Portable) => "kdna_workspace_status",
            (Tool::Resolve, ToolNames::Portable) => "kdna_workspace_resolve",
            (Tool::Load, ToolNames::Portable) => "kdna_workspace_load",
        }
    }

    /// The properties of its arguments.
    pub(crate) const fn properties(self) -> &'static [&'static str] {
        match self {
            Tool::Status => &["cwd"],
            Tool::Resolve => &["cwd", "task", "selection"],
            Tool::Load => &["cwd", "task", "selection", "profile"],
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Tool::Status => "Approved attachments",
            Tool::Resolve => "Resolve a task",
            Tool::Load => "Load an approved attachment",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Tool::Status => "Show only the approved attachments for the current workspace; never scan globally.",
            Tool::Resolve => {
                "Resolve one task against approved attachments, including a receipt-bound one-task user selection."
            }
            Tool::Load => {
                "Resolve, plan, authorize, and load one approved workspace attachment, including a receipt-bound one-task user selection."
            }
        }
    }

    const fn document_type(self) -> &'static str {
        match self {
            Tool::Status => "kdna.mcp.workspace-status",
            Tool::Resolve => "kdna.workspace-resolution",
            Tool::Load => "kdna.mcp.workspace-adoption",
        }
    }

    fn input_schema(self, revision: Revision) -> String {
        let required = if self == Tool::Status { r#""cwd""# } else { r#""cwd","task""# };
        // A host that makes another schema of this one takes a member without a type for text, and a model under it would
        // send the word "true", which is no approval. The oldest revision has the recorded form.
        let typed = if revision.has_structured_results() { r#""type":"boolean","# } else { "" };
        let selection = format!(r#"{SELECTION}{{{typed}"const":true}}}}}}"#);
        let properties = match self {
            Tool::Status => CWD.to_owned(),
            Tool::Resolve => [CWD, TASK, &selection].join(","),
            Tool::Load => [CWD, TASK, &selection, PROFILE].join(","),
        };
        format!(
            r#"{{"type":"object","additionalProperties":false,"required":[{required}],"properties":{{{properties}}}}}"#
        )
    }

    /// Open on purpose: the documents of the contract are described by their own schemas.
    fn output_schema(self) -> String {
        format!(
            r#"{{"type":"object","required":["document_type","schema_version"],"properties":{{"document_type":{{"type":"string","const":"{}"}},"schema_version":{{"type":"string"}}}}}}"#,
            self.document_type()
        )
    }

    /// A load records its delivery and spends a selection, so it does not call itself read-only.
    fn annotations(self) -> String {
        let reads_only = self != Tool::Load;
        format!(
            r#"{{"readOnlyHint":{reads_only},"destructiveHint":false,"idempotentHint":{reads_only},"openWorldHint":false}}"#
        )
    }

    fn definition(self, names: ToolNames, revision: Revision) -> String {
        let mut out = format!(r#"{{"name":"{}""#, self.name(names));
        let mut member = |key: &str, json: &str| {
            out.push_str(",\"");
            out.push_str(key);
            out.push_str("\":");
            out.push_str(json);
        };
        if revision.has_structured_results() {
            member("title", &format!("\"{}\"", self.title()));
        }
        member("description", &format!("\"{}\"", self.description()));
        member("inputSchema", &self.input_schema(revision));
        if revision.has_structured_results() {
            member("outputSchema", &self.output_schema());
        }
        if revision.has_annotations() {
            member("annotations", &self.annotations());
        }
        out.push('}');
        out
    }
}

/// The member `tools` of the result of `tools/list`: under 2024-11-05 exactly what the contract recorded.
pub(crate) fn list(names: ToolNames, revision: Revision) -> String {
    let tools = Tool::ALL.map(|tool| tool.definition(names, revision));
    format!(r#""tools":[{}]"#, tools.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::json::read_strict;
    use crate::foundation::value::Value;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_is_strict_json_under_every_revision_and_keeps_its_order() {
        for names in [ToolNames::Dotted, ToolNames::Portable] {
            for revision in Revision::ALL {
                let list = read_strict(format!("{{{}}}", list(names, revision)).as_bytes(), 10).unwrap();
                let tools = list.get("tools").unwrap().as_array().unwrap();
                let listed: Vec<_> = tools.iter().map(|tool| tool.get("name").unwrap().as_str().unwrap()).collect();
                assert_eq!(listed, Tool::ALL.map(|tool| tool.name(names)));
                for (tool, known) in tools.iter().zip(Tool::ALL) {
                    let schema = tool.get("inputSchema").unwrap();
                    let properties: Vec<_> = schema.get("properties").unwrap().as_object().unwrap().keys().collect();
                    assert_eq!(properties, known.properties());
                    let approved = schema.get("properties").and_then(|all| all.get("selection"));
                    let approved = approved.and_then(|selection| selection.get("properties")?.get("approved"));
                    let typed =
                        approved.map(|approved| approved.get("type").and_then(Value::as_str) == Some("boolean"));
                    assert_eq!(typed, (known != Tool::Status).then_some(revision >= Revision::V20250618));
                    assert_eq!(tool.get("annotations").is_some(), revision >= Revision::V20250326);
                    assert_eq!(tool.get("outputSchema").is_some(), revision >= Revision::V20250618);
                }
            }
        }
    }

    #[test]
    fn names_stay_different_when_a_host_folds_them_and_one_way_does_not_know_the_other() {
        for names in [ToolNames::Dotted, ToolNames::Portable] {
            let folded: BTreeSet<_> = Tool::ALL.iter().map(|tool| tool.name(names).replace(['.', '-'], "_")).collect();
            assert_eq!(folded.len(), 3);
        }
        assert_eq!(Tool::named(b"kdna_workspace_load", ToolNames::Portable), Some(Tool::Load));
        assert_eq!(Tool::named(b"kdna_workspace_load", ToolNames::Dotted), None);
        assert_eq!(Tool::named(b"kdna.workspace-load", ToolNames::Portable), None);
    }
}
