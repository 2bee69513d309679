//! The page size of the machine of a recording.

use firstbyte_measure::tracer::event::Image;

/// The entry of the auxiliary vector, `getauxval(3)`.
const AT_PAGESZ: u64 = 6;

/// A power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageSize(u64);

impl Default for PageSize {
    fn default() -> PageSize {
        PageSize(rustix::param::page_size() as u64)
    }
}

impl PageSize {
    /// The size in the auxiliary vector of the program; that of this machine if the vector has none or a senseless one.
    pub(super) fn of(image: &Image) -> PageSize {
        let size = image.auxiliary(AT_PAGESZ).filter(|size| size.is_power_of_two() && *size <= 1 << 20);
        size.map_or_else(PageSize::default, PageSize)
    }

    pub(super) fn bytes(self) -> u64 {
        self.0
    }

    /// The beginning of the page of an address.
    pub(super) fn begin(self, address: u64) -> u64 {
        address & !(self.0 - 1)
    }

    /// The next multiple of the page size; at the end of the address space, the last page.
    pub(super) fn round_up(self, bytes: u64) -> u64 {
        bytes.checked_next_multiple_of(self.0).unwrap_or_else(|| self.begin(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(size: u64) -> PageSize {
        PageSize::of(&Image { auxv: vec![[AT_PAGESZ, size]], ..Image::default() })
    }

    #[test]
    fn the_size_is_that_of_the_auxiliary_vector() {
        let large = with(0x1_0000);
        assert_eq!(
            (large.bytes(), large.begin(0x2_ffff), large.round_up(0x2_0001)),
            (0x1_0000, 0x2_0000, 0x3_0000)
        );
        assert_eq!((large.round_up(0), large.round_up(u64::MAX)), (0, !0xffff));
        assert_eq!([with(0), with(12_345), with(1 << 63)], [PageSize::default(); 3]);
        assert_eq!(PageSize::of(&Image::default()), PageSize::default());
    }
}
