import TestSupport
import Testing

@Suite(.cleansUp) struct SchemaTests {
    /// `deploy/tools/schema` writes the file again.
    @Test(.onOneServer) func `the text of the whole schema is that of a migrated database`()
        async throws
    {
        let database = try await TestDatabase.make()
        let folder = TestCluster.root
        let text = try Shell.run(["\(folder)/deploy/tools/schema", database.administrator])
        #expect(text == (try Shell.run(["cat", "\(folder)/Migrations/schema.sql"])))
    }
}
