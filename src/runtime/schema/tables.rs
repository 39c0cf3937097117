//! The schemas of `policy/schemas/`, arranged. Written by `tests/schema_tables.rs`; do not edit.

use super::arranged::{AnyType, Bounds, Keywords, Lists, Literal, Maps, Schema, Texts, Type};

pub(super) static MANIFEST: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
    AnyType::AllOf(&[
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { properties: &[
            ("payload", Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encrypted"], properties: &[
                ("encrypted", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Bool(true))], ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encryption"], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encryption"], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { properties: &[
            ("payload", Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encrypted"], properties: &[
                ("encrypted", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Bool(true))], ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["access"], properties: &[
            ("access", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("licensed"))], ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["entitlement"], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["entitlement"], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["access"], properties: &[
            ("access", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("licensed"))], ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
]),
], map: Some(&Maps { required: &["format_version", "asset_id", "asset_uid", "asset_type", "title", "version", "judgment_version", "created_at", "updated_at", "compatibility", "payload"], properties: &[
    ("format_version", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ("asset_id", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[a-zA-Z][a-zA-Z0-9_-]*(:[a-zA-Z0-9_.-]+)+$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("asset_uid", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { format: Some("uri"), ..Texts::NONE }), ..Keywords::NONE })),
    ("asset_type", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
        AnyType::Enum(&[Literal::Text("domain"), Literal::Text("cluster"), Literal::Text("tool"), Literal::Text("sample"), Literal::Text("fixture"), Literal::Text("bundle")]),
    ], ..Keywords::NONE })),
    ("title", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { least: Some(1), ..Bounds::NONE }, ..Texts::NONE }), ..Keywords::NONE })),
    ("version", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[0-9]+\\.[0-9]+\\.[0-9]+([+-].+)?$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("judgment_version", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[0-9]+\\.[0-9]+\\.[0-9]+([+-].+)?$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("created_at", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { format: Some("date-time"), ..Texts::NONE }), ..Keywords::NONE })),
    ("updated_at", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { format: Some("date-time"), ..Texts::NONE }), ..Keywords::NONE })),
    ("creator", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["name"], properties: &[
        ("name", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { least: Some(1), ..Bounds::NONE }, ..Texts::NONE }), ..Keywords::NONE })),
        ("id", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ("creator_type", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("human"), Literal::Text("agent"), Literal::Text("tool"), Literal::Text("organization")]),
        ], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("compatibility", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["min_loader_version", "profile", "profile_version"], properties: &[
        ("min_loader_version", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)$"), ..Texts::NONE }), ..Keywords::NONE })),
        ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("kdna.payload.judgment"), Literal::Text("kdna.payload.bundle")]),
        ], ..Keywords::NONE })),
        ("profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("payload", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["path", "encoding", "encrypted"], properties: &[
        ("path", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("payload.kdnab"))], ..Keywords::NONE })),
        ("encoding", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Enum(&[Literal::Text("cbor")])], ..Keywords::NONE })),
        ("encrypted", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("access", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
        AnyType::Enum(&[Literal::Text("public"), Literal::Text("licensed"), Literal::Text("remote")]),
    ], ..Keywords::NONE })),
    ("entitlement", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile"], properties: &[
        ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("password"), Literal::Text("local_receipt"), Literal::Text("account"), Literal::Text("org")]),
        ], ..Keywords::NONE })),
        ("offline", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
        ("revocable", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("summary", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("description", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("language", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("languages", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ("quality_badge", Schema::Nothing),
    ("risk_level", Schema::Nothing),
    ("trusted", Schema::Nothing),
    ("recommended", Schema::Nothing),
    ("high_quality", Schema::Nothing),
    ("expert_reviewed", Schema::Nothing),
    ("production_ready", Schema::Nothing),
    ("officially_approved", Schema::Nothing),
    ("license", Schema::Keywords(&Keywords { any_type: &[
        AnyType::OneOf(&[
        Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["type"], properties: &[
            ("type", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("url", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
    ]),
    ], ..Keywords::NONE })),
    ("keywords", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ("domain_field", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ("lineage", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["type"], properties: &[
        ("type", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("original"), Literal::Text("fork"), Literal::Text("adaptation"), Literal::Text("translation"), Literal::Text("private_variant"), Literal::Text("organization_variant"), Literal::Text("course_variant")]),
        ], ..Keywords::NONE })),
        ("fork_of", Schema::Keywords(&Keywords { any_type: &[
            AnyType::OneOf(&[
            Schema::Keywords(&Keywords { of_type: Some(Type::Null), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["asset_uid"], properties: &[
                ("asset_uid", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
                ("version", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE }),
        ]),
        ], ..Keywords::NONE })),
        ("derived_from", Schema::Keywords(&Keywords { any_type: &[
            AnyType::OneOf(&[
            Schema::Keywords(&Keywords { of_type: Some(Type::Null), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE }),
        ]),
        ], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("digests", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { rest: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["algorithm", "value"], properties: &[
            ("algorithm", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("value", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE })), ..Maps::NONE }), ..Keywords::NONE })),
    ("signature", Schema::Nothing),
    ("signatures", Schema::Nothing),
    ("dependencies", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { rest: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Maps::NONE }), ..Keywords::NONE })),
    ("extends", Schema::Keywords(&Keywords { any_type: &[
        AnyType::OneOf(&[
        Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["name"], rest: Some(Schema::Nothing), properties: &[
            ("name", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("version", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
    ]),
    ], ..Keywords::NONE })),
    ("encryption", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile", "profile_version", "encrypted_entries"], properties: &[
        ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("kdna.encryption.licensed-entry"), Literal::Text("kdna.encryption.password"), Literal::Text("kdna.encryption.password.scrypt"), Literal::Text("kdna.envelope.external-grant")]),
        ], ..Keywords::NONE })),
        ("profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
        ("encrypted_entries", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { length: Bounds { most: Some(1), least: Some(1) }, items: Some(Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("payload.kdnab"))], ..Keywords::NONE })), unique: true, ..Lists::NONE }), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("load_contract", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT)], ..Keywords::NONE })),
    ("scope", Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })),
    ("evidence_claims", Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

pub(super) static MANIFEST_WITH_MINIMAL: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
    AnyType::AllOf(&[
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { properties: &[
            ("payload", Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encrypted"], properties: &[
                ("encrypted", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Bool(true))], ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encryption"], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encryption"], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { properties: &[
            ("payload", Schema::Keywords(&Keywords { map: Some(&Maps { required: &["encrypted"], properties: &[
                ("encrypted", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Bool(true))], ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["access"], properties: &[
            ("access", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("licensed"))], ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["entitlement"], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["entitlement"], ..Maps::NONE }), ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["access"], properties: &[
            ("access", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("licensed"))], ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
]),
], map: Some(&Maps { required: &["format_version", "asset_id", "asset_uid", "asset_type", "title", "version", "judgment_version", "created_at", "updated_at", "compatibility", "payload"], properties: &[
    ("format_version", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ("asset_id", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[a-zA-Z][a-zA-Z0-9_-]*(:[a-zA-Z0-9_.-]+)+$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("asset_uid", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { format: Some("uri"), ..Texts::NONE }), ..Keywords::NONE })),
    ("asset_type", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
        AnyType::Enum(&[Literal::Text("domain"), Literal::Text("cluster"), Literal::Text("tool"), Literal::Text("sample"), Literal::Text("fixture"), Literal::Text("bundle")]),
    ], ..Keywords::NONE })),
    ("title", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { least: Some(1), ..Bounds::NONE }, ..Texts::NONE }), ..Keywords::NONE })),
    ("version", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[0-9]+\\.[0-9]+\\.[0-9]+([+-].+)?$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("judgment_version", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[0-9]+\\.[0-9]+\\.[0-9]+([+-].+)?$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("created_at", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { format: Some("date-time"), ..Texts::NONE }), ..Keywords::NONE })),
    ("updated_at", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { format: Some("date-time"), ..Texts::NONE }), ..Keywords::NONE })),
    ("creator", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["name"], properties: &[
        ("name", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { least: Some(1), ..Bounds::NONE }, ..Texts::NONE }), ..Keywords::NONE })),
        ("id", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ("creator_type", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("human"), Literal::Text("agent"), Literal::Text("tool"), Literal::Text("organization")]),
        ], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("compatibility", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["min_loader_version", "profile", "profile_version"], properties: &[
        ("min_loader_version", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)$"), ..Texts::NONE }), ..Keywords::NONE })),
        ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("kdna.payload.judgment"), Literal::Text("kdna.payload.bundle")]),
        ], ..Keywords::NONE })),
        ("profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("payload", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["path", "encoding", "encrypted"], properties: &[
        ("path", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("payload.kdnab"))], ..Keywords::NONE })),
        ("encoding", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Enum(&[Literal::Text("cbor")])], ..Keywords::NONE })),
        ("encrypted", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("access", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
        AnyType::Enum(&[Literal::Text("public"), Literal::Text("licensed"), Literal::Text("remote")]),
    ], ..Keywords::NONE })),
    ("entitlement", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile"], properties: &[
        ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("password"), Literal::Text("local_receipt"), Literal::Text("account"), Literal::Text("org")]),
        ], ..Keywords::NONE })),
        ("offline", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
        ("revocable", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("summary", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("description", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("language", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("languages", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ("quality_badge", Schema::Nothing),
    ("risk_level", Schema::Nothing),
    ("trusted", Schema::Nothing),
    ("recommended", Schema::Nothing),
    ("high_quality", Schema::Nothing),
    ("expert_reviewed", Schema::Nothing),
    ("production_ready", Schema::Nothing),
    ("officially_approved", Schema::Nothing),
    ("license", Schema::Keywords(&Keywords { any_type: &[
        AnyType::OneOf(&[
        Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["type"], properties: &[
            ("type", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("url", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
    ]),
    ], ..Keywords::NONE })),
    ("keywords", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ("domain_field", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ("lineage", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["type"], properties: &[
        ("type", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("original"), Literal::Text("fork"), Literal::Text("adaptation"), Literal::Text("translation"), Literal::Text("private_variant"), Literal::Text("organization_variant"), Literal::Text("course_variant")]),
        ], ..Keywords::NONE })),
        ("fork_of", Schema::Keywords(&Keywords { any_type: &[
            AnyType::OneOf(&[
            Schema::Keywords(&Keywords { of_type: Some(Type::Null), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["asset_uid"], properties: &[
                ("asset_uid", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
                ("version", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE }),
        ]),
        ], ..Keywords::NONE })),
        ("derived_from", Schema::Keywords(&Keywords { any_type: &[
            AnyType::OneOf(&[
            Schema::Keywords(&Keywords { of_type: Some(Type::Null), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE }),
        ]),
        ], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("digests", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { rest: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["algorithm", "value"], properties: &[
            ("algorithm", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("value", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE })), ..Maps::NONE }), ..Keywords::NONE })),
    ("signature", Schema::Nothing),
    ("signatures", Schema::Nothing),
    ("dependencies", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { rest: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Maps::NONE }), ..Keywords::NONE })),
    ("extends", Schema::Keywords(&Keywords { any_type: &[
        AnyType::OneOf(&[
        Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["name"], rest: Some(Schema::Nothing), properties: &[
            ("name", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("version", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
    ]),
    ], ..Keywords::NONE })),
    ("encryption", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile", "profile_version", "encrypted_entries"], properties: &[
        ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
            AnyType::Enum(&[Literal::Text("kdna.encryption.licensed-entry"), Literal::Text("kdna.encryption.password"), Literal::Text("kdna.encryption.password.scrypt"), Literal::Text("kdna.envelope.external-grant")]),
        ], ..Keywords::NONE })),
        ("profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
        ("encrypted_entries", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { length: Bounds { most: Some(1), least: Some(1) }, items: Some(Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("payload.kdnab"))], ..Keywords::NONE })), unique: true, ..Lists::NONE }), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("load_contract", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_WITH_MINIMAL)], ..Keywords::NONE })),
    ("scope", Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })),
    ("evidence_claims", Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

pub(super) static LOAD_CONTRACT: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["default_profile", "profiles"], properties: &[
    ("default_profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
        AnyType::Enum(&[Literal::Text("index"), Literal::Text("compact"), Literal::Text("scenario"), Literal::Text("full")]),
    ], ..Keywords::NONE })),
    ("profiles", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["index", "compact", "scenario", "full"], rest: Some(Schema::Nothing), properties: &[
        ("index", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_PROFILE)], ..Keywords::NONE })),
        ("compact", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_PROFILE)], ..Keywords::NONE })),
        ("scenario", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_PROFILE)], ..Keywords::NONE })),
        ("full", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_PROFILE)], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

static LOAD_CONTRACT_PROFILE: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { properties: &[
    ("requires_decryption", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
    ("max_tokens_hint", Schema::Keywords(&Keywords { of_type: Some(Type::Integer), minimum: Some(0), ..Keywords::NONE })),
    ("selection", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("intended_for", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

pub(super) static LOAD_CONTRACT_WITH_MINIMAL: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["default_profile", "profiles"], properties: &[
    ("default_profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
        AnyType::Enum(&[Literal::Text("index"), Literal::Text("compact"), Literal::Text("scenario"), Literal::Text("full"), Literal::Text("minimal")]),
    ], ..Keywords::NONE })),
    ("profiles", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["index", "compact", "scenario", "full"], rest: Some(Schema::Nothing), properties: &[
        ("index", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_WITH_MINIMAL_PROFILE)], ..Keywords::NONE })),
        ("compact", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_WITH_MINIMAL_PROFILE)], ..Keywords::NONE })),
        ("scenario", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_WITH_MINIMAL_PROFILE)], ..Keywords::NONE })),
        ("full", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_WITH_MINIMAL_PROFILE)], ..Keywords::NONE })),
        ("minimal", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&LOAD_CONTRACT_WITH_MINIMAL_PROFILE)], ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

static LOAD_CONTRACT_WITH_MINIMAL_PROFILE: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { properties: &[
    ("requires_decryption", Schema::Keywords(&Keywords { of_type: Some(Type::Boolean), ..Keywords::NONE })),
    ("max_tokens_hint", Schema::Keywords(&Keywords { of_type: Some(Type::Integer), minimum: Some(0), ..Keywords::NONE })),
    ("selection", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
    ("intended_for", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

pub(super) static JUDGMENT: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile", "profile_version", "core"], properties: &[
    ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("kdna.payload.judgment"))], ..Keywords::NONE })),
    ("profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ("core", Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
        AnyType::AnyOf(&[
        Schema::Keywords(&Keywords { map: Some(&Maps { required: &["highest_question"], ..Maps::NONE }), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { map: Some(&Maps { required: &["judgment_role"], properties: &[
            ("judgment_role", Schema::Keywords(&Keywords { any_type: &[
                AnyType::AnyOf(&[
                Schema::Keywords(&Keywords { map: Some(&Maps { required: &["acts_as"], ..Maps::NONE }), ..Keywords::NONE }),
                Schema::Keywords(&Keywords { map: Some(&Maps { required: &["does_not_act_as"], ..Maps::NONE }), ..Keywords::NONE }),
                Schema::Keywords(&Keywords { map: Some(&Maps { required: &["responsibility"], ..Maps::NONE }), ..Keywords::NONE }),
            ]),
            ], ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { map: Some(&Maps { required: &["boundaries"], properties: &[
            ("boundaries", Schema::Keywords(&Keywords { list: Some(&Lists { length: Bounds { least: Some(1), ..Bounds::NONE }, ..Lists::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
        Schema::Keywords(&Keywords { map: Some(&Maps { properties: &[
            ("axioms", Schema::Keywords(&Keywords { list: Some(&Lists { contains: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
                    AnyType::AnyOf(&[
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["applies_when"], properties: &[
                        ("applies_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_SOME_TEXTS)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["does_not_apply_when"], properties: &[
                        ("does_not_apply_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_SOME_TEXTS)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                ]),
                ], ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE }),
    ]),
    ], map: Some(&Maps { required: &["axioms"], properties: &[
        ("highest_question", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
        ("worldview", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("value_order", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("judgment_role", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { properties: &[
            ("acts_as", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
            ("does_not_act_as", Schema::Keywords(&Keywords { any_type: &[
                AnyType::OneOf(&[
                Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE }),
                Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_SOME_TEXTS)], ..Keywords::NONE }),
            ]),
            ], ..Keywords::NONE })),
            ("responsibility", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE })),
        ("core_structure", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["from", "to", "via"], rest: Some(Schema::Nothing), properties: &[
                ("from", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                ("to", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                ("via", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[
                    AnyType::Enum(&[Literal::Text("priority"), Literal::Text("exception")]),
                ], ..Keywords::NONE })),
                ("applies_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXTS)], ..Keywords::NONE })),
                ("does_not_apply_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXTS)], ..Keywords::NONE })),
            ], ..Maps::NONE }), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("axioms", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { length: Bounds { least: Some(1), ..Bounds::NONE }, items: Some(Schema::Keywords(&Keywords { any_type: &[
                AnyType::OneOf(&[
                Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE }),
                Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
                    AnyType::AnyOf(&[
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["statement"], properties: &[
                        ("statement", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["one_sentence"], properties: &[
                        ("one_sentence", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["full_statement"], properties: &[
                        ("full_statement", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                ]),
                ], map: Some(&Maps { size: Bounds { least: Some(1), ..Bounds::NONE }, properties: &[
                    ("applies_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXTS)], ..Keywords::NONE })),
                    ("does_not_apply_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXTS)], ..Keywords::NONE })),
                ], ..Maps::NONE }), ..Keywords::NONE }),
            ]),
            ], ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("boundaries", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { any_type: &[
                AnyType::OneOf(&[
                Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE }),
                Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
                    AnyType::AnyOf(&[
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["scope"], properties: &[
                        ("scope", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["out_of_scope"], properties: &[
                        ("out_of_scope", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["text"], properties: &[
                        ("text", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["statement"], properties: &[
                        ("statement", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["one_sentence"], properties: &[
                        ("one_sentence", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["boundary"], properties: &[
                        ("boundary", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["stance"], properties: &[
                        ("stance", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["applies_when"], properties: &[
                        ("applies_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_SOME_TEXTS)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                    Schema::Keywords(&Keywords { map: Some(&Maps { required: &["does_not_apply_when"], properties: &[
                        ("does_not_apply_when", Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_SOME_TEXTS)], ..Keywords::NONE })),
                    ], ..Maps::NONE }), ..Keywords::NONE }),
                ]),
                ], map: Some(&Maps { size: Bounds { least: Some(1), ..Bounds::NONE }, ..Maps::NONE }), ..Keywords::NONE }),
            ]),
            ], ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("risk_model", Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("patterns", Schema::Keywords(&Keywords { of_type: Some(Type::Array), ..Keywords::NONE })),
    ("scenarios", Schema::Keywords(&Keywords { of_type: Some(Type::Array), ..Keywords::NONE })),
    ("cases", Schema::Keywords(&Keywords { of_type: Some(Type::Array), ..Keywords::NONE })),
    ("reasoning", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { properties: &[
        ("self_check", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { any_type: &[
                AnyType::OneOf(&[
                Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE }),
                Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["question"], properties: &[
                    ("question", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
                    ("applies_when", Schema::Keywords(&Keywords { of_type: Some(Type::Array), ..Keywords::NONE })),
                    ("does_not_apply_when", Schema::Keywords(&Keywords { of_type: Some(Type::Array), ..Keywords::NONE })),
                    ("failure_risk", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
                ], ..Maps::NONE }), ..Keywords::NONE }),
            ]),
            ], ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("self_checks", Schema::Nothing),
        ("failure_modes", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
    ("evolution", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { properties: &[
        ("changelog", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
        ("version_notes", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
    ], ..Maps::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

static JUDGMENT_TEXT: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { least: Some(1), ..Bounds::NONE }, pattern: Some("\\S"), ..Texts::NONE }), ..Keywords::NONE });

static JUDGMENT_TEXTS: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE });

static JUDGMENT_SOME_TEXTS: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { length: Bounds { least: Some(1), ..Bounds::NONE }, items: Some(Schema::Keywords(&Keywords { any_type: &[AnyType::Reference(&JUDGMENT_TEXT)], ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE });

pub(super) static BUNDLE: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile", "profile_version", "components"], properties: &[
    ("profile", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("kdna.payload.bundle"))], ..Keywords::NONE })),
    ("profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ("components", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { items: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["id", "path"], properties: &[
            ("id", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("path", Schema::Keywords(&Keywords { of_type: Some(Type::String), ..Keywords::NONE })),
            ("priority", Schema::Keywords(&Keywords { of_type: Some(Type::Integer), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE })), ..Lists::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

pub(super) static CHECKSUMS: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), any_type: &[
    AnyType::AllOf(&[
    Schema::Keywords(&Keywords { any_type: &[
        AnyType::If(Schema::Keywords(&Keywords { any_type: &[
            AnyType::AnyOf(&[
            Schema::Keywords(&Keywords { map: Some(&Maps { required: &["digest_profile"], ..Maps::NONE }), ..Keywords::NONE }),
            Schema::Keywords(&Keywords { map: Some(&Maps { required: &["covered_entries"], ..Maps::NONE }), ..Keywords::NONE }),
        ]),
        ], ..Keywords::NONE }), Some(Schema::Keywords(&Keywords { map: Some(&Maps { required: &["digest_profile", "digest_profile_version", "covered_entries", "manifest_digest", "payload_digest", "entry_set_digest"], ..Maps::NONE }), ..Keywords::NONE }))),
    ], ..Keywords::NONE }),
]),
], map: Some(&Maps { required: &["algorithm"], properties: &[
    ("digest_profile", Schema::Keywords(&Keywords { any_type: &[
        AnyType::Const(Literal::Text("kdna.digest-basis.runtime-entry-set")),
    ], ..Keywords::NONE })),
    ("digest_profile_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ("covered_entries", Schema::Keywords(&Keywords { of_type: Some(Type::Array), list: Some(&Lists { length: Bounds { most: Some(2), least: Some(2) }, prefix: &[
        Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("kdna.json"))], ..Keywords::NONE }),
        Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("payload.kdnab"))], ..Keywords::NONE }),
    ], items: Some(Schema::Nothing), ..Lists::NONE }), ..Keywords::NONE })),
    ("algorithm", Schema::Keywords(&Keywords { of_type: Some(Type::String), any_type: &[AnyType::Const(Literal::Text("sha256"))], ..Keywords::NONE })),
    ("manifest_digest", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^sha256:[a-f0-9]{64}$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("payload_digest", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^sha256:[a-f0-9]{64}$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("entry_set_digest", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^sha256:[a-f0-9]{64}$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("entries", Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { rest: Some(Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["algorithm", "value"], properties: &[
            ("algorithm", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("sha256"))], ..Keywords::NONE })),
            ("value", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[a-f0-9]{64}$"), ..Texts::NONE }), ..Keywords::NONE })),
        ], ..Maps::NONE }), ..Keywords::NONE })), ..Maps::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });

pub(super) static EXTERNAL_GRANT: Schema = Schema::Keywords(&Keywords { of_type: Some(Type::Object), map: Some(&Maps { required: &["profile", "contract_version", "alg", "cek_derivation", "key_ref", "issuer_key_id", "entry_path", "plaintext_digest", "iv", "tag", "ciphertext"], rest: Some(Schema::Nothing), properties: &[
    ("profile", Schema::Keywords(&Keywords { any_type: &[
        AnyType::Const(Literal::Text("kdna.envelope.external-grant")),
    ], ..Keywords::NONE })),
    ("contract_version", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("0.1.0"))], ..Keywords::NONE })),
    ("alg", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("A256GCM"))], ..Keywords::NONE })),
    ("cek_derivation", Schema::Keywords(&Keywords { any_type: &[AnyType::Const(Literal::Text("HKDF-SHA256"))], ..Keywords::NONE })),
    ("key_ref", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { most: Some(256), least: Some(1) }, ..Texts::NONE }), ..Keywords::NONE })),
    ("issuer_key_id", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { most: Some(128), least: Some(1) }, ..Texts::NONE }), ..Keywords::NONE })),
    ("entry_path", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { most: Some(256), ..Bounds::NONE }, pattern: Some("^[^/].*[^/]$|^[^/]$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("plaintext_digest", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^sha256:[0-9a-f]{64}$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("iv", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[A-Za-z0-9_-]{16}$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("tag", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { pattern: Some("^[A-Za-z0-9_-]{22}$"), ..Texts::NONE }), ..Keywords::NONE })),
    ("ciphertext", Schema::Keywords(&Keywords { of_type: Some(Type::String), text: Some(&Texts { length: Bounds { least: Some(1), ..Bounds::NONE }, pattern: Some("^[A-Za-z0-9_-]+$"), ..Texts::NONE }), ..Keywords::NONE })),
], ..Maps::NONE }), ..Keywords::NONE });
