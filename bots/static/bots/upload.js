// The upload page: take a dropped file, say at once if it is too large, hide the new bot's name while one of mine is chosen.
const form = document.querySelector("[data-upload]");
const drop = form.querySelector("[data-drop]");
const file = form.elements.file;
const bot = form.elements.bot;
const nameField = form.elements.name.closest(".field");

const showName = () => { nameField.hidden = bot.value !== ""; };
bot.addEventListener("change", showName);
showName();

const isFile = (event) => event.dataTransfer?.types.includes("Files");
drop.querySelector("[data-drop-hint]").hidden = false;
drop.addEventListener("dragover", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  drop.classList.add("is-over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("is-over"));
drop.addEventListener("drop", (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  drop.classList.remove("is-over");
  file.files = event.dataTransfer.files;
  sayIfTooLarge();
  file.focus();
});

// A body that is far too large never reaches the page that could say so.
const { tooLarge, sourceKib, archiveKib } = form.dataset;
const told = document.createElement("p");
told.className = "drop-told";
told.setAttribute("role", "alert");
drop.append(told);
const sayIfTooLarge = () => {
  const chosen = file.files[0];
  const most = chosen?.name.toLowerCase().endsWith(".zip") ? archiveKib : sourceKib;
  const isTooLarge = chosen !== undefined && chosen.size > most * 1024;
  told.textContent = isTooLarge ? tooLarge.replace("{source}", sourceKib).replace("{archive}", archiveKib) : "";
  return isTooLarge;
};
file.addEventListener("change", sayIfTooLarge);
form.addEventListener("submit", (event) => {
  if (!sayIfTooLarge()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  file.focus();
}, { capture: true });
