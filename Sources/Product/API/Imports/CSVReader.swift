import Storage
import Text

/// Reads comma-separated values (RFC 4180) as their pieces arrive, one record at a time. It also
/// reads what spreadsheets write: another separator, spaces around cells, and rows without content,
/// which are skipped.
struct CSVReader: Sendable {
    private enum State {
        case start, plain, quoted, quoteInQuoted
        /// The reader is after a closing quote. Before the next separator, only spaces may follow.
        case closed
    }

    private let separator: UInt8
    private var state = State.start
    private var cells: [[UInt8]] = []
    private var cell: [UInt8] = []
    private var bytes = 0
    private var fault: ImportFault?
    /// Whether the record contains more than spaces and separators; `""` counts as content.
    private var hasContent = false
    private var endsWithReturn = false

    /// The cells of a record, or the reason why the record could not be read.
    typealias Record = Result<[[UInt8]], ImportFault>

    init(separator: UInt8 = UInt8(ascii: ",")) { self.separator = separator }

    /// Adds bytes and returns the records that they complete.
    mutating func read(_ piece: [UInt8]) -> [Record] {
        var records: [Record] = []
        for byte in piece { if let record = take(byte) { records.append(record) } }
        return records
    }

    /// The last record, if the file does not end with a line break. Throws if a quote is still
    /// open, since it is unknown where that record ends.
    mutating func finish() throws(ImportFault) -> Record? {
        if state == .quoted {
            throw ImportFault("invalid_request", "A quote is not closed.")
        }
        return ended()
    }

    private mutating func take(_ byte: UInt8) -> Record? {
        // CR LF is one line break, and so is CR alone.
        if endsWithReturn {
            endsWithReturn = false
            if byte == 0x0A { return nil }
        }
        bytes += 1
        if bytes > ImportLimits.row {
            fault = .longRow
            cell.removeAll()
            cells.removeAll()
        }
        switch (state, byte) {
        case (.quoted, 0x22): state = .quoteInQuoted
        case (.quoted, _): append(byte)
        case (.quoteInQuoted, 0x22):
            append(byte)
            state = .quoted
        case (_, 0x0D), (_, 0x0A):
            endsWithReturn = byte == 0x0D
            return ended()
        case (_, separator): endCell()
        case (.start, 0x20), (.start, 0x09): append(byte)
        case (.start, 0x22):
            cell.removeAll()
            state = .quoted
            hasContent = true
        case (.quoteInQuoted, 0x20), (.quoteInQuoted, 0x09), (.closed, 0x20), (.closed, 0x09):
            state = .closed
        case (.quoteInQuoted, _), (.closed, _):
            fault = fault ?? .malformed("A closing quote is followed by text.")
            state = .plain
        case (_, 0x22): fault = fault ?? .malformed("A cell without quotes contains a quote.")
        default:
            append(byte)
            state = .plain
            hasContent = true
        }
        return nil
    }

    private mutating func append(_ byte: UInt8) { if fault == nil { cell.append(byte) } }

    private mutating func endCell() {
        state = .start
        guard fault == nil else { return }
        cells.append(cell)
        cell = []
        if cells.count > ImportLimits.columns { fault = .malformed("The row has too many cells.") }
    }

    /// Ends the current record and returns it; `nil` if it has no content.
    private mutating func ended() -> Record? {
        endCell()
        defer {
            cells = []
            cell = []
            bytes = 0
            fault = nil
            hasContent = false
        }
        guard hasContent else { return nil }
        return fault.map { .failure($0) } ?? .success(cells)
    }
}

/// The dialect in which a file of comma-separated values is written.
struct CSVDialect: Sendable, Equatable {
    /// The possible separators, in the order in which they are tried.
    private static let separators = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]

    var separator = UInt8(ascii: ",")
    /// The length in bytes of the line `sep=;` that Excel writes first; 0 if the file has no such
    /// line. The line is not a record.
    var skipped = 0

    /// Determines the dialect from the file's first bytes; `nil` if more bytes are needed. If the
    /// file begins with a line `sep=`, that line names the separator. Otherwise the separator is
    /// the one that splits the first line into the most known column names or, if none is known,
    /// into the most cells.
    init?(of bytes: [UInt8], isWhole: Bool, isKnown: ([UInt8]) -> Bool) {
        guard let first = Self.line(of: bytes, from: 0, isWhole: isWhole) else { return nil }
        let line = bytes[first.text].filter { $0 != 0x22 }
        if line.count == 5, ASCII.lower(line.prefix(4)) == Array("sep=".utf8) {
            separator = line[4]
            skipped = first.end
            return
        }
        var best = (known: 0, cells: 0)
        for one in Self.separators {
            var reader = CSVReader(separator: one)
            let record = reader.read(Array(bytes[first.text]) + [0x0A]).first
            let cells = (try? record?.get()) ?? []
            let known = cells.count(where: isKnown)
            if known > best.known || known == best.known && cells.count > best.cells {
                best = (known, cells.count)
                separator = one
            }
        }
    }

    /// The first line with content from this position on, and the position where the next line
    /// begins. Line breaks within quotes do not end a line.
    private static func line(
        of bytes: [UInt8], from start: Int, isWhole: Bool
    ) -> (text: Range<Int>, end: Int)? {
        var isQuoted = false
        for at in start..<bytes.count {
            if bytes[at] == 0x22 { isQuoted.toggle() }
            guard !isQuoted, bytes[at] == 0x0D || bytes[at] == 0x0A else { continue }
            let isBlank = bytes[start..<at].allSatisfy { $0 == 0x20 || separators.contains($0) }
            var end = at + 1
            if bytes[at] == 0x0D {
                if end == bytes.count, !isWhole { return nil }
                if end < bytes.count, bytes[end] == 0x0A { end += 1 }
            }
            return isBlank ? line(of: bytes, from: end, isWhole: isWhole) : (start..<at, end)
        }
        let isOver = isWhole || bytes.count > ImportLimits.row
        return isOver ? (start..<bytes.count, bytes.count) : nil
    }
}

/// Decodes Windows-1252 as the Encoding Standard does: bytes without a character become C1
/// controls.
enum Windows1252 {
    private static let upper: [UInt16] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039,
        0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
        0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
    ]
    /// The labels of Windows-1252 in the Encoding Standard that occur in practice.
    private static let labels: Set<String> = [
        "windows-1252", "cp1252", "x-cp1252", "iso-8859-1", "iso8859-1", "latin1", "l1", "ascii",
        "us-ascii",
    ]

    static func isNamed(_ charset: String) -> Bool { labels.contains(charset.lowercased()) }

    static func utf8(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return bytes }
        var text = String.UnicodeScalarView()
        for byte in bytes {
            let value = (0x80..<0xA0).contains(byte) ? upper[Int(byte) - 0x80] : UInt16(byte)
            if let scalar = Unicode.Scalar(value) { text.append(scalar) }
        }
        return Array(String(text).utf8)
    }
}

extension ImportFault {
    static let longRow = ImportFault(
        "payload_too_large", "The row has more than \(ImportLimits.row) bytes.")

    static func malformed(_ detail: String) -> ImportFault {
        ImportFault("invalid_request", detail)
    }

    static func invalid(_ detail: String) -> ImportFault {
        ImportFault("validation_failed", detail)
    }
}
