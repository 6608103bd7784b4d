// The API's reference, drawn by Swagger UI from the schema of this site.
const place = document.querySelector("#api-reference");
const { schema, csrf } = place.dataset;

window.SwaggerUIBundle({
  url: schema,
  domNode: place,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  validatorUrl: null,
  // Whoever is logged in may try things out with his session.
  requestInterceptor: (request) => {
    if (new URL(request.url, location.href).origin === location.origin) request.headers["X-CSRFToken"] = csrf;
    return request;
  },
});
