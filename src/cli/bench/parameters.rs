//! Parameters of commands: `{name}` in a command is replaced by each value of a list or a range.

use std::collections::BTreeMap;

/// The maximum number of values that a range may have. A longer range is probably a typing error.
const MAX_VALUES: i128 = 100_000;

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    name: String,
    values: Vec<String>,
}

/// One value for each parameter.
pub(super) type Assignment = BTreeMap<String, String>;

impl Parameter {
    /// `--parameter-list NAME A,B,C`; `\,` is a comma within a value.
    pub(super) fn list(name: &str, values: &str) -> Result<Parameter, String> {
        let mut split = vec![String::new()];
        let mut characters = values.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' if characters.peek() == Some(&',') => {
                    split.last_mut().unwrap_or(&mut String::new()).extend(characters.next());
                }
                ',' => split.push(String::new()),
                other => split.last_mut().unwrap_or(&mut String::new()).push(other),
            }
        }
        Ok(Parameter { name: checked(name)?, values: split })
    }

    /// `--parameter-scan NAME MIN MAX`, in steps (default: 1). Decimal fractions are exact.
    pub(super) fn scan(name: &str, min: &str, max: &str, step: Option<&str>) -> Result<Parameter, String> {
        let texts = [min, max, step.unwrap_or("1")];
        let digits = texts.iter().map(|text| fraction(text).len()).max().unwrap_or(0);
        let [from, to, step] = texts.map(|text| scaled(text, digits));
        let (from, to, step) = (from?, to?, step?);
        let error = |what: &str| format!("`{min}` to `{max}` for the parameter `{name}`: {what}");

        if step <= 0 {
            return Err(error("the step is not above 0") + "\nhelp: write it like --parameter-step-size 0.5");
        }
        if from > to {
            return Err(error("the range is empty") + "\nhelp: give the smaller value first");
        }
        if (to - from) / step >= MAX_VALUES {
            return Err(error("the range has more than 100000 values")
                + "\nhelp: use a larger step, as in --parameter-step-size 1000");
        }

        let steps = (to - from) / step;
        Ok(Parameter {
            name: checked(name)?,
            values: (0..=steps).map(|n| unscaled(from + n * step, digits)).collect(),
        })
    }
}

fn checked(name: &str) -> Result<String, String> {
    if name.is_empty() || name.contains(['{', '}']) {
        return Err(format!(
            "`{name}` is not a valid parameter name\nhelp: write it like -L size 1,10,100 'cmd {{size}}'"
        ));
    }
    Ok(name.to_owned())
}

/// The digits after the decimal point.
fn fraction(number: &str) -> &str {
    number.split_once('.').map_or("", |(_, digits)| digits)
}

/// A decimal number, multiplied by ten to the power of `digits`.
fn scaled(number: &str, digits: usize) -> Result<i128, String> {
    let error = || format!("`{number}` is not a decimal number\nhelp: write it like 8 or 0.25");
    if digits > 15 || number.len() > 18 {
        return Err(error());
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    let all = format!("{unsigned}{fraction:0<digits$}");
    let is_number = !unsigned.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit());
    let value: i128 = Some(all).filter(|_| is_number).and_then(|all| all.parse().ok()).ok_or_else(error)?;
    Ok(if whole.starts_with('-') { -value } else { value })
}

fn unscaled(number: i128, digits: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let text = format!("{:0>width$}", number.unsigned_abs(), width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    if digits == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Every combination of the parameters' values; the values of the last parameter change fastest. Without parameters
/// there is one combination, which is empty.
pub(super) fn combinations(parameters: &[Parameter]) -> Result<Vec<Assignment>, String> {
    let mut all = vec![Assignment::new()];
    for (index, parameter) in parameters.iter().enumerate() {
        if parameters[..index].iter().any(|earlier| earlier.name == parameter.name) {
            return Err(format!(
                "the parameter `{0}` is given twice\nhelp: give all its values at once, as in -L {0} A,B",
                parameter.name
            ));
        }
        let with = |value: &String, assignment: &Assignment| {
            let mut assignment = assignment.clone();
            assignment.insert(parameter.name.clone(), value.clone());
            assignment
        };
        all = all.iter().flat_map(|a| parameter.values.iter().map(move |value| with(value, a))).collect();
    }
    Ok(all)
}

/// `text` with each `{name}` replaced by its value, in one pass: names within values are left as they are.
pub(super) fn replaced(text: &str, assignment: &Assignment) -> String {
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, after) = rest.split_at(start);
        replaced += before;
        let found = assignment.iter().find_map(|(name, value)| {
            Some((value, after.strip_prefix('{')?.strip_prefix(name.as_str())?.strip_prefix('}')?))
        });
        if let Some((value, after)) = found {
            replaced += value;
            rest = after;
        } else {
            replaced.push('{');
            rest = &after[1..];
        }
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(min: &str, max: &str, step: Option<&str>) -> Result<Vec<String>, String> {
        Parameter::scan("n", min, max, step).map(|parameter| parameter.values)
    }

    #[test]
    fn ranges_include_both_ends_and_keep_their_decimals() {
        assert_eq!(scan("1", "3", None).unwrap(), ["1", "2", "3"]);
        assert_eq!(scan("0.3", "0.7", Some("0.2")).unwrap(), ["0.3", "0.5", "0.7"]);
        assert_eq!(scan("-1", "0", Some("0.5")).unwrap(), ["-1.0", "-0.5", "0.0"]);
        assert_eq!(scan("5", "5", None).unwrap(), ["5"]);
    }

    #[test]
    fn invalid_ranges_are_refused() {
        let table = [
            ("1", "3", Some("0")),
            ("1", "3", Some("-1")),
            ("3", "1", None),
            ("0", "1000000", None),
            ("a", "b", None),
            ("", "1", None),
            ("NaN", "1", None),
            ("1e3", "1e4", None),
            ("99999999999999999999", "1", None),
        ];
        for (min, max, step) in table {
            assert!(scan(min, max, step).unwrap_err().contains("\nhelp: "), "{min} {max}");
        }
    }

    #[test]
    fn lists_are_split_at_commas_without_a_backslash() {
        assert_eq!(Parameter::list("n", r"a,b\,c,,d").unwrap().values, ["a", "b,c", "", "d"]);
        assert!(Parameter::list("", "a").is_err());
    }

    #[test]
    fn parameters_combine_and_are_replaced_once() {
        let parameters = [Parameter::list("a", "1,2").unwrap(), Parameter::list("b", "{a},y").unwrap()];
        let all = combinations(&parameters).unwrap();
        let shown: Vec<String> = all.iter().map(|a| replaced("{a}-{b} {c} {", a)).collect();
        assert_eq!(shown, ["1-{a} {c} {", "1-y {c} {", "2-{a} {c} {", "2-y {c} {"]);
        assert!(combinations(&[parameters[0].clone(), parameters[0].clone()]).is_err());
        assert_eq!(combinations(&[]).unwrap().len(), 1);
    }
}
