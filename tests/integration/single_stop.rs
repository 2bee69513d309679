//! `bench --backend ptrace` stops a program that runs alone only once, and any other program at each write of output.

use crate::bench::{exported, firstbyte, folder};
use serde_json::Value;

const MODE: [&str; 6] = ["--backend", "ptrace", "--runs", "8", "--warmup", "3"];

fn measured(command: &str) -> Value {
    let folder = folder();
    let (document, status) = exported(folder.path(), &[&MODE[..], &[command]].concat());
    assert_eq!(status, Some(0), "{document}");
    document["results"][0].clone()
}

fn samples(result: &Value, name: &str) -> Vec<u64> {
    let samples = result["phases"][name]["samples"].as_array();
    samples.into_iter().flatten().map(|sample| sample.as_u64().unwrap()).collect()
}

#[test]
fn a_program_that_runs_alone_has_all_phases_but_the_write() {
    let result = measured("echo hello");
    let [startup, setup, teardown, first, total] =
        ["startup", "setup", "teardown", "first_byte", "total"].map(|name| samples(&result, name));
    assert_eq!((startup.len(), result["output"]["bytes"].as_u64()), (8, Some(6)), "{result}");
    assert!(result["phases"]["write"].is_null(), "{result}");
    assert!(result["unseen_write"].as_str().unwrap().starts_with("it is a part of `setup`"));
    for run in 0..8 {
        assert_eq!(startup[run] + setup[run], first[run]);
        assert_eq!(first[run] + teardown[run], total[run]);
    }
    assert_eq!(result["counts"]["processes"], 1, "from the counting pass");

    let text =
        firstbyte(folder().path(), &[&["bench", "--no-overhead"], &MODE[..], &["echo hello"]].concat())
            .stdout;
    assert!(String::from_utf8(text).unwrap().contains("setup and write"));
}

#[test]
fn a_program_with_more_to_see_is_stopped_at_its_write() {
    let long = "head -c 9000 /dev/zero";
    for command in ["sh -c 'echo hello; true | true'", "env echo hello", "true", long] {
        let result = measured(command);
        assert_eq!(result["unseen_write"], Value::Null, "{command}: {result}");
        assert_eq!(samples(&result, "write").is_empty(), command == "true", "{command}: {result}");
    }
}

/// Its second output makes no difference, and a signal that it sends itself does not either.
#[test]
fn whatever_it_does_after_its_first_byte_its_output_is_whole() {
    let result = measured("sh -c 'echo one; kill -CONT $$; echo two'");
    assert_eq!((result["output"]["bytes"].as_u64(), samples(&result, "total").len()), (Some(8), 8));
    assert!(result["unseen_write"].is_string(), "{result}");
}
