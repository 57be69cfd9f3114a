// TextTests
