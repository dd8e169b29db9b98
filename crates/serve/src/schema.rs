//! The JSON Schema of the data that the page reads. `cargo xtask types` makes the page's own types of
//! it.

use schemars::generate::SchemaSettings;
use serde_json::Value;
use stampede_model::fact::{Fact, LimitFound};
use stampede_results::report::page::model::{LiveUpdate, Page};
use stampede_results::summary::model::Figures;

use super::shows::{List, OverRuns};

/// Returns the schema of a report's data. Its definitions also have the other data of the page: the
/// list of runs, and the event `now`. And they have the types whose fields stand between those of
/// another type.
pub fn schema() -> Value {
    // A field that may be missing when it is read is still always written.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<List>();
    generator.subschema_for::<OverRuns>();
    generator.subschema_for::<LiveUpdate>();
    generator.subschema_for::<Figures>();
    generator.subschema_for::<Fact<LimitFound>>();
    generator.into_root_schema_for::<Page>().to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::schema;

    #[test]
    fn all_that_the_page_reads_is_described_as_it_is_written() {
        let schema = schema();
        assert_eq!(schema["title"], "Page");
        for name in
            ["List", "OverRuns", "LiveUpdate", "Figures", "LimitFound", "CaseSummary", "Reason"]
        {
            assert!(schema["$defs"].get(name).is_some(), "{name}");
        }
        let required = schema["$defs"]["CaseCounts"]["required"].as_array().expect("a list");
        assert!(required.contains(&json!("in_flight_max")), "it is always written: {required:?}");
    }
}
