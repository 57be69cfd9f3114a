import Glibc

/// A growable buffer of bytes to send; one for each loop, reused for every response.
package final class OutputBuffer {
    package private(set) var count = 0
    private var capacity: Int
    private var start: UnsafeMutablePointer<UInt8>

    package init(capacity: Int = 16 << 10) {
        self.capacity = capacity
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    /// Valid until the next write.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Keeps the memory unless it exceeds 1 MiB.
    package func removeAll() {
        count = 0
        // Free the memory of a large response.
        guard capacity > 1 << 20 else { return }
        start.deallocate()
        capacity = 16 << 10
        start = .allocate(capacity: capacity)
    }

    package func truncate(to length: Int) { count = min(count, length) }

    /// Appends one byte.
    @inline(__always)
    package func append(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count += 1
    }

    /// Appends UTF-8 without a copy of the text.
    @inline(__always)
    package func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    package func append(_ array: [UInt8]) { array.withUnsafeBytes { append($0) } }

    /// Copies the bytes; the source may be freed afterwards.
    @inline(__always)
    package func append(_ source: UnsafeRawBufferPointer) {
        guard let from = source.baseAddress else { return }
        reserve(source.count)
        memcpy(start + count, from, source.count)
        count += source.count
    }

    /// Writes a non-negative number in a base up to 16, in lower case.
    package func append(number: Int, base: Int = 10) {
        var divisor = 1
        while number / divisor >= base { divisor *= base }
        while divisor > 0 {
            let digit = UInt8(truncatingIfNeeded: number / divisor % base)
            append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            divisor /= base
        }
    }

    @inline(__always)
    private func reserve(_ more: Int) { if count + more > capacity { grow(more) } }

    @inline(never)
    private func grow(_ more: Int) {
        while capacity < count + more { capacity *= 2 }
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        memcpy(larger, start, count)
        start.deallocate()
        start = larger
    }
}
