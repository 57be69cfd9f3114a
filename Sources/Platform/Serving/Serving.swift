// Serving
