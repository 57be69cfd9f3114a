import JSON
import Storage
import Text

extension QueryParameter {
    /// By the names that the tenant's schema indexes.
    static let attributes: QueryParameter = {
        var parameter = QueryParameter(
            "attributes.<name>", .string(max: 255),
            "Only users with this value of an indexed attribute, compared byte by byte.")
        parameter.isFamily = true
        return parameter
    }()
}

extension Call {
    /// Attributes and their values; 422 for a name by which lists do not filter.
    func attributes(of filter: ListFilter) async throws -> [(name: String, value: String)] {
        let prefix = "attributes."
        let asked = filter.input.members.compactMap { member -> (name: String, value: String)? in
            guard member.name.hasPrefix(prefix), let value = member.value.string else { return nil }
            return (String(member.name.dropFirst(prefix.count)), value)
        }
        if asked.isEmpty { return [] }
        let schema = try await scope.attributeSchema()
        let errors = asked.filter { !schema.isReady($0.name) }.map { name, _ in
            schema.unready.contains { sameBytes($0, name) }
                ? FieldError(
                    "\(filter.pointer)\(prefix)\(name)", .notAllowed,
                    "is being indexed; try again later")
                : FieldError(
                    "\(filter.pointer)\(prefix)\(name)", .unknown, "is not an indexed attribute")
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
        return asked
    }
}
