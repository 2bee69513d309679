//! The size of a page where the recording was made.

use firstbyte_measure::tracer::event::Image;

/// The auxiliary vector's entry, `getauxval(3)`.
const AT_PAGESZ: u64 = 6;

/// A power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageSize(u64);

/// This machine's.
impl Default for PageSize {
    fn default() -> PageSize {
        PageSize(rustix::param::page_size() as u64)
    }
}

impl PageSize {
    /// What the kernel told the program; this machine's where it told nothing, or nothing that is one.
    pub(super) fn of(image: &Image) -> PageSize {
        let told = image.auxiliary(AT_PAGESZ).filter(|size| size.is_power_of_two() && *size <= 1 << 20);
        told.map_or_else(PageSize::default, PageSize)
    }

    /// In bytes.
    pub(super) fn bytes(self) -> u64 {
        self.0
    }

    /// Where the page begins in which an address lies.
    pub(super) fn begin(self, address: u64) -> u64 {
        address & !(self.0 - 1)
    }

    /// To whole pages; of what is beyond all pages, the last.
    pub(super) fn round_up(self, bytes: u64) -> u64 {
        bytes.checked_next_multiple_of(self.0).unwrap_or_else(|| self.begin(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(size: u64) -> PageSize {
        PageSize::of(&Image { auxv: vec![[AT_PAGESZ, size]], ..Image::default() })
    }

    #[test]
    fn the_size_is_what_the_program_was_told() {
        let large = told(0x1_0000);
        assert_eq!(
            (large.bytes(), large.begin(0x2_ffff), large.round_up(0x2_0001)),
            (0x1_0000, 0x2_0000, 0x3_0000)
        );
        assert_eq!((large.round_up(0), large.round_up(u64::MAX)), (0, !0xffff));
        assert_eq!([told(0), told(12_345), told(1 << 63)], [PageSize::default(); 3]);
        assert_eq!(PageSize::of(&Image::default()), PageSize::default());
    }
}
