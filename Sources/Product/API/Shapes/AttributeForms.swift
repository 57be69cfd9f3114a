import JSON
import Storage

extension JSONWriter {
    mutating func member(_ name: StaticString, stored attributes: Attributes) {
        self.name(name)
        raw(Array(attributes.text.utf8))
    }
}

extension FieldShape {
    static let publicAttributes = FieldShape(
        "public_attributes", .attributes, nullable: true,
        "Your own data about the object, which apps can see. Key verifications contain the public "
            + "attributes of the user; tokens contain only those with `in_token` in the attribute "
            + "schema. A change is merged into the stored data (RFC 7396), and `null` removes a "
            + "member. At most 64 members, 5 levels and 16,384 bytes.",
        example: .object([.init("plan", .string("team"))]))

    static let privateAttributes = FieldShape(
        "private_attributes", .attributes, nullable: true,
        "Your own data about the object, which apps cannot see. A `member` cannot read the private "
            + "attributes of their own account.",
        example: .object([.init("credit", .string("good"))]))
}

extension Input {
    /// The attributes that result from the body's change.
    func attributes(on before: AttributePair) -> AttributePair {
        var after = before
        if let change = self["public_attributes"] { after.public = before.public.merging(change) }
        if let change = self["private_attributes"] {
            after.private = before.private.merging(change)
        }
        return after
    }
}
