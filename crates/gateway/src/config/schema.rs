//! The JSON Schema of the config file, for editors.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::keys::FileEntry;

/// Draft 7, which every editor understands, in one piece: what hovers over a key is then what stands at it.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<FileEntry>();
    schema.insert("title".into(), "Switchboard config".into());
    // For VS Code, which would otherwise underline both in a file whose name ends in `.json`.
    schema.insert("allowComments".into(), true.into());
    schema.insert("allowTrailingCommas".into(), true.into());
    schema.to_value()
}
