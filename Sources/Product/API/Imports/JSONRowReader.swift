import JSON
import Storage

/// Splits a JSON document into its rows as its pieces arrive. The document may be a list of rows,
/// an object with that list in one member, or a text with one row on each line. The whole document
/// is never in memory.
struct JSONRowReader: Sendable {
    private enum State {
        /// The reader has not reached the document's first value.
        case start
        /// The reader is between two rows: in a list, or in a document with one row for each line.
        case list, lines
        case row
        /// The reader is in an object, before the member that contains the list of rows.
        case members
        case ended
    }

    private let container: [UInt8]?
    private var state = State.start
    private var isLines = false
    /// The nesting depth within the current row, or within the object around the list.
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var row: [UInt8] = []
    private var bytes = 0
    private var name: [UInt8] = []
    private var isName = false
    private var isWanted = false

    /// The text of a row, or the reason why the row could not be read.
    typealias Record = Result<[UInt8], ImportFault>

    /// `container` is the name of the member that contains the rows; `nil` if the document has no
    /// such member.
    init(container: String?) { self.container = container.map { Array($0.utf8) } }

    /// Adds bytes and returns the rows that they complete. Throws if the document does not have the
    /// expected structure.
    mutating func read(_ piece: [UInt8]) throws(ImportFault) -> [Record] {
        var records: [Record] = []
        for byte in piece { if let record = try take(byte) { records.append(record) } }
        return records
    }

    /// The last row of a document with one row for each line. Throws if the document is incomplete.
    mutating func finish() throws(ImportFault) -> Record? {
        switch state {
        case .ended, .lines: return nil
        case .row where isLines: return end()
        case .start: throw .malformed("The file is empty.")
        case .row, .list, .members: throw .malformed("The file ends too early.")
        }
    }

    private mutating func take(_ byte: UInt8) throws(ImportFault) -> Record? {
        switch state {
        case .start: try begin(byte)
        case .lines:
            if Self.isSpace(byte) { return nil }
            add(byte)
            state = .row
        case .list:
            if byte == 0x5D {
                state = container == nil ? .ended : .members
                depth = 1
                isWanted = false
            } else if !Self.isSpace(byte), byte != 0x2C {
                state = .row
                return try takeOfList(byte)
            }
        case .row: return isLines ? takeOfLine(byte) : try takeOfList(byte)
        case .members: try takeMember(byte)
        case .ended:
            guard Self.isSpace(byte) else {
                throw .malformed("Something follows the end of the document.")
            }
        }
        return nil
    }

    private mutating func begin(_ byte: UInt8) throws(ImportFault) {
        if Self.isSpace(byte) { return }
        switch byte {
        case 0x5B where container == nil: state = .list
        case 0x7B where container != nil:
            state = .members
            depth = 1
        case 0x7B:
            isLines = true
            state = .row
            add(byte)
        default:
            throw .malformed(
                container == nil
                    ? "The file is neither a JSON list nor an object for each line."
                    : "The file is not a JSON object with a list of users.")
        }
    }

    private mutating func takeOfLine(_ byte: UInt8) -> Record? {
        if byte == 0x0A { return end() }
        add(byte)
        return nil
    }

    /// Adds a byte within a list. Returns the row that it completes, at the row's closing bracket
    /// or at the comma after it.
    private mutating func takeOfList(_ byte: UInt8) throws(ImportFault) -> Record? {
        switch byte {
        case _ where isInString: step(byte)
        case 0x22: isInString = true
        case 0x7B, 0x5B: depth += 1
        case 0x7D, 0x5D:
            if depth == 0 {
                // The list itself ends here, after a row without brackets, such as a number.
                let record = end()
                _ = try take(byte)
                return record
            }
            depth -= 1
            if depth == 0 {
                add(byte)
                return end()
            }
        case 0x2C where depth == 0: return end()
        default: break
        }
        add(byte)
        return nil
    }

    private mutating func step(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == 0x5C {
            isEscaped = true
        } else if byte == 0x22 {
            isInString = false
        }
    }

    /// Adds a byte within the object around the list, and remembers the name of the current member.
    private mutating func takeMember(_ byte: UInt8) throws(ImportFault) {
        if isInString {
            step(byte)
            if isInString, isName, name.count < 64 { name.append(byte) }
            return
        }
        switch byte {
        case 0x22:
            isInString = true
            isName = depth == 1 && !isWanted
            if isName { name = [] }
        case 0x3A where depth == 1: isWanted = name == container
        case 0x5B where depth == 1 && isWanted:
            state = .list
            depth = 0
        case 0x7B, 0x5B: depth += 1
        case 0x7D, 0x5D:
            depth -= 1
            if depth == 0 { state = .ended }
        case 0x2C where depth == 1: isWanted = false
        default: break
        }
    }

    private mutating func add(_ byte: UInt8) {
        bytes += 1
        if bytes <= ImportLimits.row {
            row.append(byte)
        } else {
            row = []
        }
    }

    private mutating func end() -> Record {
        let record: Record = bytes > ImportLimits.row ? .failure(.longRow) : .success(row)
        row = []
        bytes = 0
        depth = 0
        isInString = false
        isEscaped = false
        state = isLines ? .lines : .list
        return record
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }
}
