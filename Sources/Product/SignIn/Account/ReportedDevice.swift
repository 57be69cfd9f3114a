import HTTP
import Text

/// Client-reported device, unverified: it only gives a session a display name.
package struct ReportedDevice: Sendable {
    /// The app's own id of the device, if it has one.
    package var id: String?
    package var type: String?
    package var os: String?

    package init(id: String? = nil, type: String? = nil, os: String? = nil) {
        self.id = id.map { Self.plain($0) }
        self.type = type.map { Self.plain($0) }
        self.os = os.map { Self.plain($0) }
    }

    /// At most 128 characters without control characters: it is shown in lists.
    private static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(128)))
    }

    /// The origin of a request, as far as it may count as the user's: the network and what the app
    /// reports, so that the same device elsewhere is another one.
    func key(from address: String) -> String {
        [IPAddress.network(of: address), id ?? "", type ?? "", os ?? ""].joined(separator: "\0")
    }
}
