import Domain
import JSON
import Storage
import Text

extension Appearance {
    static let field = FieldShape(
        "appearance",
        .object(
            ObjectShape(
                "Appearance",
                [
                    .nullable(
                        "name", .string(min: 1, max: 64, rule: .displayName),
                        "Shown to people instead of the tenant's name."),
                    .nullable("accent", .string(rule: accentRule), "The colour of the buttons."),
                    .readOnly(
                        "on_accent", .string(), nullable: true, always: false,
                        "Black or white, whichever is read better on the accent."),
                    .readOnly(
                        "logo_url", .string(), nullable: true, always: false,
                        "Where the logo is, below this server's address."),
                ])),
        "What the pages of sign-in, invites and join links wear.")

    private static let accentRule = TextRule(
        pattern: "^#[0-9A-Fa-f]{6}$", detail: "must be a colour of the form #rrggbb",
        example: "#1d5bc9", check: Appearance.isAccent)

    var json: JSONValue {
        .object([
            .init("name", name.map { .string($0) } ?? .null),
            .init("accent", accent.map { .string($0) } ?? .null),
            .init("on_accent", ink.map { .string($0) } ?? .null),
            .init("logo_url", logoPath.map { .string($0) } ?? .null),
        ])
    }

    /// After a body's change of it: an absent member stays, `null` clears.
    func changed(by input: Input?) -> Appearance {
        guard let input else { return self }
        var new = self
        if input.has("name") { new.name = input.optionalString("name") }
        if input.has("accent") { new.accent = input.optionalString("accent")?.lowercased() }
        return new
    }
}

extension TenantRow {
    /// What strangers are shown of a tenant whose invite or join link they hold.
    static let faceShape = ObjectShape([
        .readOnly("name", .string()), .readOnly("slug", .string()), Appearance.field,
    ])

    var face: JSONValue {
        .object([
            .init("name", .string(name)), .init("slug", .string(slug)),
            .init("appearance", appearance.json),
        ])
    }
}
