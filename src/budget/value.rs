//! The values of a budget: durations, sizes and counts, each with its tolerance.

use firstbyte_measure::units::{Bytes, Nanos, parse_bytes, parse_duration};
use serde::de::{Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An upper limit: `30`, or `{ max = 30, tolerance = "2%" }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtMost<T> {
    pub max: T,
    /// By which part of `max` a figure may exceed it; `None`: the default for the figure.
    pub tolerance: Option<f64>,
}

/// A number with a unit.
pub trait Limit: Copy {
    /// In the smallest unit.
    fn number(self) -> u64;
    fn from_number(number: u64) -> Result<Self, &'static str>;
    fn from_text(text: &str) -> Result<Self, String>;
    /// For messages: what the file should have here.
    const EXPECTED: &'static str;
}

impl Limit for u64 {
    fn number(self) -> u64 {
        self
    }
    fn from_number(number: u64) -> Result<u64, &'static str> {
        Ok(number)
    }
    fn from_text(text: &str) -> Result<u64, String> {
        Err(format!("`{text}` is not a whole number"))
    }
    const EXPECTED: &'static str =
        "a whole number such as 30, or a table such as { max = 30, tolerance = \"2%\" }";
}

impl Limit for Nanos {
    fn number(self) -> u64 {
        self.0
    }
    fn from_number(_: u64) -> Result<Nanos, &'static str> {
        Err("a duration needs a unit, as in \"5ms\"")
    }
    fn from_text(text: &str) -> Result<Nanos, String> {
        let duration = parse_duration(text).map_err(|error| first_line(&error))?;
        u64::try_from(duration.as_nanos()).map(Nanos).map_err(|_| format!("`{text}` is too long"))
    }
    const EXPECTED: &'static str =
        "a duration such as \"5ms\", or a table such as { max = \"5ms\", tolerance = \"2%\" }";
}

pub type Size = Bytes;

impl Limit for Size {
    fn number(self) -> u64 {
        self.0
    }
    fn from_number(number: u64) -> Result<Size, &'static str> {
        Ok(Bytes(number))
    }
    fn from_text(text: &str) -> Result<Size, String> {
        parse_bytes(text).map_err(|error| first_line(&error))
    }
    const EXPECTED: &'static str =
        "a size such as \"2MiB\", or a table such as { max = \"2MiB\", tolerance = \"5%\" }";
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// The short form: a value alone.
struct Plain<T>(T);

impl<'de, T: Limit> Deserialize<'de> for Plain<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Plain<T>, D::Error> {
        from.deserialize_any(PlainVisitor(std::marker::PhantomData))
    }
}

struct PlainVisitor<T>(std::marker::PhantomData<T>);

impl<T: Limit> Visitor<'_> for PlainVisitor<T> {
    type Value = Plain<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Plain<T>, E> {
        let number =
            u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))?;
        self.visit_u64(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Plain<T>, E> {
        T::from_number(number).map(Plain).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Plain<T>, E> {
        T::from_text(text).map(Plain).map_err(E::custom)
    }
}

/// The long form: a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Limit")]
struct Table<T> {
    max: Plain<T>,
    #[serde(default, deserialize_with = "tolerance")]
    tolerance: Option<f64>,
}

fn tolerance<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(from)?;
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..=1000.0).contains(percent));
    let error = || D::Error::custom(format!("`{text}` is not a valid tolerance: write it like \"2%\""));
    percent.map(|percent| Some(percent / 100.0)).ok_or_else(error)
}

impl<'de, T: Limit> Deserialize<'de> for AtMost<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<AtMost<T>, D::Error> {
        from.deserialize_any(AtMostVisitor(std::marker::PhantomData))
    }
}

struct AtMostVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Limit> Visitor<'de> for AtMostVisitor<T> {
    type Value = AtMost<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<AtMost<T>, E> {
        PlainVisitor(std::marker::PhantomData).visit_i64(number).map(AtMost::from)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<AtMost<T>, E> {
        PlainVisitor(std::marker::PhantomData).visit_u64(number).map(AtMost::from)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AtMost<T>, E> {
        PlainVisitor(std::marker::PhantomData).visit_str(text).map(AtMost::from)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<AtMost<T>, A::Error> {
        let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(AtMost { max: table.max.0, tolerance: table.tolerance })
    }
}

impl<T> From<Plain<T>> for AtMost<T> {
    fn from(plain: Plain<T>) -> AtMost<T> {
        AtMost { max: plain.0, tolerance: None }
    }
}
