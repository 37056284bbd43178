//! The JSON Schema of the config file, for editors.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::keys::FileEntry;

/// Draft 7, which every editor understands, with inlined subschemas: an editor then
/// shows a key's own description.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<FileEntry>();
    schema.insert("title".into(), "Switchboard config".into());
    // For VS Code, which would otherwise mark both as errors in a file named `.json`.
    schema.insert("allowComments".into(), true.into());
    schema.insert("allowTrailingCommas".into(), true.into());
    schema.to_value()
}
