// Sets the reader's remembered theme and deck before the first paint: a classic script, loaded in the
// head, because a module would run after it. Nothing else belongs here.
(function () {
  var root = document.documentElement;
  try {
    var theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("deck") === "four") root.classList.add("four-colour");
  } catch (error) {
    // Storage may be forbidden (private windows); the system's own theme then stands.
    if (!(error instanceof DOMException)) throw error;
  }
})();
